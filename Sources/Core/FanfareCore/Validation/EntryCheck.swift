internal import FCMWire
public import FanfareJSON
public import FanfareModel
public import StreamWire

/// Everything that a worker checks before an entry of `jobs` becomes a job, for tools that check before they push: the
/// fields, and whether the message has a counterpart on the project's transport.
///
/// Only Redis knows the rest: whether the id was pushed before, and what the key of an audience holds.
public struct EntryCheck: Sendable {
    private let validator: IntakeValidator
    let settings: ProtocolSettings

    /// - Parameters:
    ///   - hasSenderID: whether the project's sender id is configured.
    ///   - prefix: of every Redis key, without the colon.
    public init(_ settings: ProtocolSettings, hasSenderID: Bool, project: String, prefix: String) {
        self.settings = settings
        validator = IntakeValidator(
            settings.traits,
            hasSenderID: hasSenderID,
            projectKeyTag: "{\(project)}",
            prefix: prefix
        )
    }

    /// - Throws: the first rule that the entry breaks.
    public func check(_ fields: [(name: String, value: [UInt8])]) throws(EntryFault) -> JobOutline {
        let job = try validator.check(entryID: "0-1", fields: fields)
        let recipients = IntakeCall.recipients(of: job)?.count
        do throws(TranslationError) {
            _ = try ProtocolAdapter(JobSpec(job: job, total: recipients ?? 0), job: job.id, settings: settings)
        } catch {
            throw EntryFault(error.path, error.rule)
        }
        let message = job.operation == .send && !job.isPersonal ? validator.messageChecker(of: job) : nil
        return JobOutline(
            job: job,
            jobClass: Self.jobClass(of: job, recipients: recipients),
            recipients: recipients,
            messageBytes: message?.size(of: job.message),
            messageLimit: message?.sizeLimit
        )
    }

    /// As `intake` decides it; nil for an audience, whose length only Redis knows.
    private static func jobClass(of job: Job, recipients: Int?) -> JobPlan.Class? {
        guard job.operation == .send else { return .managed }
        if job.target.kind.isBroadcast { return .broadcast }
        if job.target.kind == .group { return .group }
        return recipients.map { $0 > Batch.maximumSize ? .fanout : .single }
    }
}

/// What an entry that breaks no rule becomes.
public struct JobOutline: Equatable, Sendable {
    public let job: Job
    /// nil for an audience, whose length only Redis knows.
    public let jobClass: JobPlan.Class?
    /// nil for an audience.
    public let recipients: Int?
    /// The message's size as FCM counts it, of the platform on which it is largest; nil for a job without a message.
    public let messageBytes: Int?
    public let messageLimit: Int?

    public var batches: Int? { recipients.map { ($0 + Batch.maximumSize - 1) / Batch.maximumSize } }

    public var json: JSONObject {
        func number(_ value: Int?) -> JSONValue? { value.map { .number(JSONNumber(Int64($0))) } }
        var object = JSONObject()
        object["id"] = job.hasOwnID ? .string(job.id) : nil
        object["op"] = .string(job.operation.rawValue)
        object["class"] = jobClass.map { .string($0 == .broadcast ? "broadcast" : $0.rawValue) }
        object["recipients"] = number(recipients)
        object["batches"] = number(batches)
        object["message_bytes"] = number(messageBytes)
        object["message_limit"] = number(messageLimit)
        return object
    }
}
