internal import FanfareClient
internal import FanfareCore
internal import FanfareJSON
internal import FanfareModel

/// Pushes a job for each instant at which a zone of the recipients shows a local time.
struct LocalTimeSend {
    let session: ProjectSession
    let recipients: ZonedRecipients
    /// The job without its recipients, its start and the end of its id; its `id` is that of the family.
    let template: PushJob
    /// When each job expires: a delay counts from its start.
    let expiresAt: TimeArgument?
    /// Whether the message has values of each recipient.
    let isPersonal: Bool
    /// Nil pushes without a check.
    let check: SendCheck?

    private struct Part {
        let job: PushJob
        let instantMs: Int64
    }

    func run(isJSON: Bool) async throws {
        let first = job(at: recipients.local.milliseconds, .audience(key: key()))
        let preview = try check?.check(first)
        try recipients.read(rowCheck(preview))
        try await recipients.write(session.client, key: key)
        let jobs: [Part]
        do { jobs = try recipients.instants.map(part) } catch {
            await recipients.deleteLists()
            throw error
        }
        var pushed: [JSONValue] = []
        for (index, part) in jobs.enumerated() {
            var push = JobPush(session: session, job: part.job)
            push.warns = index == 0
            do { pushed.append(.object(try await run(push, part, isJSON: isJSON))) } catch {
                // This part may have been pushed; no job names the lists of the later ones.
                for later in jobs[(index + 1)...] { await recipients.groups[later.instantMs]?.list?.delete() }
                throw error
            }
        }
        guard isJSON else { return }
        Console.json([
            "id": .string(template.id ?? ""), "project": .string(session.project), "parts": .array(pushed),
        ])
    }

    private func run(_ push: JobPush, _ part: Part, isJSON: Bool) async throws -> JSONObject {
        let pushed = try await push.push()
        let group = recipients.groups[part.instantMs]
        // The job that has the id reads a list of its own.
        if pushed.isDuplicate { await group?.list?.delete() }
        if !isJSON { Console.line(pushed.id) }
        let object: JSONObject = [
            "id": .string(pushed.id), "not_before": .number(JSONNumber(part.instantMs)),
            "recipients": .number(JSONNumber(Int64(group?.count ?? 0))),
        ]
        return JSONObject(object.members + pushed.members)
    }

    private func key() -> String { AudienceList.newKey(project: session.project) }

    private func rowCheck(_ preview: PersonalPreview?) -> RecipientFileReader.Check? {
        guard check != nil else { return nil }
        if let preview { return { preview.fault(of: $0) } }
        return { token in RecipientRules.tokenFault(token.bytes).map { EntryFault("token", $0) } }
    }

    /// The job of one instant, checked before its recipients are part of it: they were checked row by row.
    private func part(_ instantMs: Int64) throws -> Part {
        let group = recipients.groups[instantMs]
        _ = try check?.check(job(at: instantMs, .audience(key: group?.list?.key ?? key())))
        if let list = group?.list {
            return Part(job: job(at: instantMs, .audience(key: list.key)), instantMs: instantMs)
        }
        let texts = RecipientList((group?.elements ?? []).map { String(decoding: $0, as: UTF8.self) })
        let job = job(at: instantMs, isPersonal ? .recipients(texts) : .tokens(texts))
        return Part(job: job, instantMs: instantMs)
    }

    private func job(at instantMs: Int64, _ target: Target) -> PushJob {
        var job = template
        job.target = target
        job.id = recipients.local.id(of: template.id ?? "", instantMs: instantMs)
        job.notBefore = instantMs
        job.expiresAt = expiresAt?.milliseconds(nowMs: instantMs)
        if case .audience = target, isPersonal { job.audienceFormat = .json } else { job.audienceFormat = nil }
        return job
    }
}
