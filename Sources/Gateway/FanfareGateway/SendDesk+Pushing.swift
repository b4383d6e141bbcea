internal import FanfareClient
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import NIOConcurrencyHelpers

/// The pushes of jobs, and the requests that equal earlier ones.
extension SendDesk {
    /// How long the push of a job is tried for which no request waits any more.
    private static var unawaitedNs: UInt64 { 60_000_000_000 }
    /// Between two looks at an equal request of another gateway.
    private static var lookPause: Duration { .milliseconds(50) }

    /// Pushes a job until Redis has it. A push that may have been lost is repeated: the job's id makes that harmless.
    func push(_ job: Job, id: String, _ prepared: PreparedJob?) async {
        var job = job
        let key = job.key
        await tail.follow(key.project)
        // A job whose clients are all gone is pushed, too: their repeats take it over.
        let lasts = state.withLockedValue { state in
            job.requests.compactMap { state.members[$0.request]?.deadlineNs }.max() ?? nowNs() + Self.unawaitedNs
        }
        var isDoubtful = false
        while !job.requests.isEmpty {
            do {
                let conflicts = try await push(job, id, prepared)
                if conflicts.isEmpty { return pushed(job, id, isLate: lasts <= nowNs()) }
                job = remove(conflicts, from: job, id: id)
            } catch {
                isDoubtful = isDoubtful || mayBeApplied(error)
                logger.warning(
                    "A push failed.",
                    metadata: ["project": "\(key.project)", "job": "\(id)", "error": "\(error)"]
                )
                guard isDoubtful, nowNs() < lasts else {
                    let cause = "Redis did not take the job: \(error)"
                    return end(job, with: isDoubtful ? .unknown(job: id) : .unavailable(cause))
                }
                try? await Task.sleep(for: Self.repeatPause)
            }
        }
    }

    private func push(_ job: Job, _ id: String, _ prepared: PreparedJob?) async throws
        -> [RequestRecords<Redis>.Conflict]
    {
        let project = job.key.project
        let (written, early, mayMeet) = state.withLockedValue { state in
            let written = job.requests.compactMap { request, _ in
                state.ledger.record(of: request).map { (request: request, key: $0.key, record: $0.record) }
            }
            let early = written.filter { $0.record.isOpen && state.ledger.hasUnwritten($0.key) }
            let changed = Set(state.changes[project]?.map(\.key) ?? [])
            return (written, early, written.contains { changed.contains($0.key) })
        }
        if !early.isEmpty { return early.map { RequestRecords<Redis>.Conflict(request: $0.request, entries: nil) } }
        // What became of an equal request of this gateway is in Redis before the push reads it.
        if mayMeet { _ = await writeChanges(project) }
        return try await records.push(job.key.job(to: job.recipients, id: id, prepared), written, project: project)
    }

    /// - Parameter isLate: whether the deadlines of its requests are over, as without a wait.
    private func pushed(_ job: Job, _ id: String, isLate: Bool) {
        let project = job.key.project
        meters.pushed(recipients: job.recipients.count, key: job.key.key)
        state.withLockedValue { state in
            for (request, _) in job.requests { state.add(state.ledger.markPushed(request), project: project) }
        }
        handle(.pushed(project: project, job: id))
        if isLate { handle(.passed(nowNs: nowNs())) }
    }

    /// Ends all requests of a job of which Redis did not say that it took it.
    private func end(_ job: Job, with end: SendEnd) {
        let members = state.withLockedValue { state in
            job.requests.compactMap { request, _ -> Member? in
                var actions: [WaitingTable<UInt64>.Action] = []
                state.table.handle(.left(request), into: &actions)
                if case .unknown = end {
                    // Its record may be there.
                    state.add(state.ledger.markPushed(request), project: job.key.project)
                } else {
                    state.ledger.forget(request)
                }
                return state.members.removeValue(forKey: request)
            }
        }
        for member in members { member.continuation.resume(returning: end) }
    }

    // MARK: Equal requests

    /// Removes requests that have earlier ones to look at.
    ///
    /// - Returns: the job of the others.
    private func remove(_ conflicts: [RequestRecords<Redis>.Conflict], from job: Job, id: String) -> Job {
        let removed = Set(conflicts.map(\.request))
        let rest = job.without(removed)
        state.withLockedValue { state in
            var actions: [WaitingTable<UInt64>.Action] = []
            for (request, _) in job.requests { state.table.handle(.left(request), into: &actions) }
            state.enter(rest, id: id)
        }
        for conflict in conflicts {
            Task { await resolve(conflict.request, conflict.entries, in: job.key.project) }
        }
        return rest
    }

    /// Does with a request what its earlier ones demand; see ``DuplicateRule``.
    ///
    /// - Parameter known: nil if they are not in Redis yet.
    private func resolve(_ request: UInt64, _ known: [DuplicateRule.Entry]?, in project: String) async {
        var known = known
        while let (member, recordKey) = unresolved(request) {
            if state.withLockedValue({ $0.ledger.hasUnwritten(recordKey) }) {
                known = nil
                try? await Task.sleep(for: Self.lookPause)
                continue
            }
            do {
                let entries: [DuplicateRule.Entry]
                if let known { entries = known } else { entries = try await records.entries(of: recordKey) }
                known = nil
                let others = Set(entries.map(\.request.gateway)).subtracting([records.gateway])
                let living = try await records.living(others)
                switch DuplicateRule.decide(entries, gateway: records.gateway, living: living) {
                case .send:
                    let job = Self.job(of: request, member.send)
                    let id = member.send.id ?? newJobID()
                    state.withLockedValue { $0.enter(job, id: id) }
                    return await push(job, id: id, member.send.job)
                case .answer(let answer): return answerAgain(request, answer)
                case .takeOver(let entry, let place):
                    if try await records.takeOver(entry, place, key: recordKey, by: request) {
                        return await wait(request, at: place, in: project)
                    }
                case .wait: try? await Task.sleep(for: Self.lookPause)
                }
            } catch {
                guard nowNs() < member.deadlineNs else {
                    let job = Self.job(of: request, member.send)
                    return end(job, with: .unavailable("Redis did not take the job: \(error)"))
                }
                try? await Task.sleep(for: Self.repeatPause)
            }
        }
    }

    /// A request whose client waits, with the key of its record; nil once the client is gone.
    private func unresolved(_ request: UInt64) -> (Member, String)? {
        state.withLockedValue { state in
            guard let member = state.members[request], let key = member.send.recordKey else {
                state.ledger.forget(request)
                return nil
            }
            return (member, key)
        }
    }

    private func answerAgain(_ request: UInt64, _ answer: ServedAnswer) {
        let member = state.withLockedValue { state in
            state.ledger.forget(request)
            return state.members.removeValue(forKey: request)
        }
        member?.send.tally?.repeated()
        member?.continuation.resume(returning: .answered(answer))
    }

    /// Waits for the results of a job that an earlier request pushed.
    private func wait(_ request: UInt64, at place: DuplicateRule.Place, in project: String) async {
        let awaited = WaitingTable<UInt64>.Place(project: project, job: place.job, indices: place.indices)
        state.withLockedValue { state in
            state.ledger.place(request, at: place)
            state.add(state.ledger.markPushed(request), project: project)
            guard let member = state.members[request] else { return }
            member.send.tally?.repeated()
            var actions: [WaitingTable<UInt64>.Action] = []
            state.table.handle(
                .wait(request, awaited, deadlineNs: member.deadlineNs, isPushed: true),
                into: &actions
            )
        }
        await tail.follow(project)
        await inquire([awaited])
    }
}
