/** The files of a new project by path. The project runs at once. */
export function projectFiles(name: string, version: string): Readonly<Record<string, string>> {
  return { "package.json": manifest(name, version), "workflows.ts": workflows, "tsconfig.json": tsconfig, "README.md": readme(name), ".gitignore": gitignore }
}

function manifest(name: string, version: string): string {
  const content = {
    name,
    version: "0.0.0",
    private: true,
    type: "module",
    engines: { node: ">=22.13" },
    scripts: { dev: "perdure dev", start: "perdure worker", check: "perdure check", typecheck: "tsc" },
    dependencies: { "@hono/node-server": "^2.1.0", hono: "^4.13.0", perdure: `^${version}` },
    devDependencies: { "@types/node": "^24.0.0", typescript: ">=5.8" },
  }
  return `${JSON.stringify(content, undefined, 2)}\n`
}

const workflows = `import { workflow, type Context } from "perdure"

/** Runs through crashes, restarts and deploys: each step is done once, and what it gave is kept. */
export const greet = workflow("greet", async (ctx: Context, input: { name: string }) => {
  const greeting = await ctx.do("compose", () => \`Hello, \${input.name}!\`)
  await ctx.sleep("think", "2s")
  const reply = await ctx.waitForEvent("reply", { timeout: "1h", default: "nothing" })
  await ctx.do("remember", () => console.log(\`\${greeting} They said: \${String(reply)}\`))
  return { greeting, reply }
})
`

const tsconfig = `${JSON.stringify(
  {
    compilerOptions: {
      target: "ES2023",
      lib: ["ES2023"],
      module: "nodenext",
      types: ["node"],
      strict: true,
      noEmit: true,
      erasableSyntaxOnly: true,
      verbatimModuleSyntax: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
    },
    include: ["**/*.ts"],
  },
  undefined,
  2,
)}\n`

const gitignore = `node_modules/
*.db
*.db-*
*.db.*
`

function readme(name: string): string {
  return `# ${name}

Durable workflows with Perdure, in \`workflows.ts\`.

\`\`\`sh
npm install
npm run dev                                                         # runs the workflows, and starts anew when a file changes
npx perdure start greet '{"name":"Ada"}' --id ada --version 1       # in another terminal
npx perdure why ada
npx perdure send ada reply '"Hi"'
npx perdure result ada
\`\`\`

\`npm run check\` says which running instances a change would stall: run it before a deploy. \`npm start\` only executes, without the HTTP API.
Everything is in \`perdure.db\`; \`perdure backup\` copies it while it is in use.
`
}
