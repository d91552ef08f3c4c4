import type { Directory } from "../../../ports/directory.ts"
import type { FlowControl } from "../../../ports/flow-control.ts"
import type { JournalStore } from "../../../ports/journal-store.ts"
import type { ScheduleStore } from "../../../ports/schedule-store.ts"
import type { TaskStore } from "../../../ports/task-store.ts"
import type { Transactions } from "../../../ports/transactions.ts"
import type { LockQueue } from "./lock-queue.ts"

/**
 * Wrappers that send every call to a store on a file through the queue for the file's lock. The SQL classes do not know the queue: a Durable Object
 * is the only user of its database, and uses these classes without a queue.
 */

export function queuedJournal(journal: JournalStore, queue: LockQueue): JournalStore {
  return {
    claim: (request) => queue.write(() => journal.claim(request)),
    renew: (worker, leaseMs, offers) => queue.write(() => journal.renew(worker, leaseMs, offers)),
    release: (worker, ids) => queue.write(() => journal.release(worker, ids)),
    commit: (turns) => queue.write(() => journal.commit(turns)),
    owned: (worker) => queue.read(() => journal.owned(worker)),
    unread: (worker, limit) => queue.read(() => journal.unread(worker, limit)),
    readJournal: (id, from) => queue.read(() => journal.readJournal(id, from)),
    readInbox: (ids, part) => queue.read(() => journal.readInbox(ids, part)),
    nextDueAt: (offers) => queue.read(() => journal.nextDueAt(offers)),
  }
}

export function queuedDirectory(directory: Directory, queue: LockQueue): Directory {
  return {
    deliver: (messages) => queue.write(() => directory.deliver(messages)),
    deliverOrCreate: (message, create) => queue.write(() => directory.deliverOrCreate(message, create)),
    remove: (ids) => queue.write(() => directory.remove(ids)),
    get: (id) => queue.read(() => directory.get(id)),
    list: (filter, page) => queue.read(() => directory.list(filter, page)),
    count: (filter, by) => queue.read(() => directory.count(filter, by)),
    workers: () => queue.read(() => directory.workers()),
    changes: (after, limit, instance) => queue.read(() => directory.changes(after, limit, instance)),
    latestChange: () => queue.read(() => directory.latestChange()),
  }
}

export function queuedSchedules(schedules: ScheduleStore, queue: LockQueue): ScheduleStore {
  return {
    write: (change) => queue.write(() => schedules.write(change)),
    remove: (id) => queue.write(() => schedules.remove(id)),
    get: (id) => queue.read(() => schedules.get(id)),
    input: (id) => queue.read(() => schedules.input(id)),
    list: (filter, page) => queue.read(() => schedules.list(filter, page)),
    due: (workflows, limit) => queue.read(() => schedules.due(workflows, limit)),
    nextDueAt: (workflows) => queue.read(() => schedules.nextDueAt(workflows)),
  }
}

export function queuedTasks(tasks: TaskStore, queue: LockQueue): TaskStore {
  return {
    claim: (request) => queue.write(() => tasks.claim(request)),
    keep: (claims, leaseMs) => queue.write(() => tasks.keep(claims, leaseMs)),
    finish: (endings) => queue.write(() => tasks.finish(endings)),
    expire: (limit) => queue.write(() => tasks.expire(limit)),
    announce: (worker, leaseMs) => queue.write(() => tasks.announce(worker, leaseMs)),
    find: (ids) => queue.read(() => tasks.find(ids)),
    depths: () => queue.read(() => tasks.depths()),
    workers: () => queue.read(() => tasks.workers()),
  }
}

/** The function of a transaction runs only after BEGIN IMMEDIATE has got the lock, so a refused call has not run it. */
export function queuedTransactions(transactions: Transactions, queue: LockQueue): Transactions {
  return { transact: (run) => queue.write(() => transactions.transact(run)) }
}

export function queuedFlow(flow: FlowControl, queue: LockQueue): FlowControl {
  return {
    declare: (workflows) => queue.write(() => flow.declare(workflows)),
    override: (workflow, changes) => queue.write(() => flow.override(workflow, changes)),
    assign: (id, incarnation, traits, deadlineAt) => queue.write(() => flow.assign(id, incarnation, traits, deadlineAt)),
    limitsOf: (workflow) => queue.read(() => flow.limitsOf(workflow)),
    holder: (unique) => queue.read(() => flow.holder(unique)),
    waitOf: (id) => queue.read(() => flow.waitOf(id)),
    onAdmitted: (listener) => flow.onAdmitted(listener),
  }
}
