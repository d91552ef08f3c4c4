/** Scripts that a shell runs when the user presses Tab. Each script asks `perdure complete`, which knows the commands of the installed version. */

const bash = `# perdure: completion for bash. Put this into ~/.bashrc:  source <(perdure completion bash)
_perdure() {
  local line="\${COMP_LINE:0:COMP_POINT}" reply word before
  COMPREPLY=()
  # bash takes a colon for the end of a word, and replaces only what is after it.
  word="\${line##*[[:space:]]}"
  before=""
  [[ $COMP_WORDBREAKS == *:* && $word == *:* ]] && before="\${word%"\${word##*:}"}"
  while IFS= read -r reply; do
    if [[ $reply == ":files" ]]; then
      compopt -o default 2>/dev/null
      return
    fi
    reply="\${reply%%$'\\t'*}"
    COMPREPLY+=("\${reply#"$before"}")
  done < <(perdure complete --line "$line" 2>/dev/null)
}
complete -F _perdure perdure
`

const zsh = `#compdef perdure
# perdure: completion for zsh. Put this into ~/.zshrc:  source <(perdure completion zsh)
_perdure() {
  local -a replies items
  local reply
  replies=("\${(@f)$(perdure complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "$replies[1]" == ":files" ]]; then
    _files
    return
  fi
  for reply in $replies; do
    items+=("\${\${reply%%$'\\t'*}//:/\\\\:}:\${reply#*$'\\t'}")
  done
  _describe 'perdure' items
}
compdef _perdure perdure
`

const fish = `# perdure: completion for fish. Put this into ~/.config/fish/completions/perdure.fish
function __perdure_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l replies (perdure complete -- $words[2..-1] 2>/dev/null)
  if test "$replies[1]" = ":files"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $replies
  end
end
complete -c perdure -f -a '(__perdure_complete)'
`

export const completionScripts = { bash, zsh, fish } as const
