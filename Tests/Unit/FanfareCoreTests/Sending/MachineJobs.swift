import FanfareModel

@testable import FanfareCore
@testable import StreamWire

// The jobs, claims and answers that the machine's tests are about.

extension JobSpec {
    /// A message to tokens.
    static func message(
        to target: Target = .tokens(["t0"]),
        total: Int = 1,
        ttl: String? = nil,
        change: (inout Job) -> Void = { _ in }
    ) -> JobSpec {
        let body = ttl.map { #"{"data":{"a":"b"},"android":{"ttl":"\#($0)"}}"# } ?? #"{"data":{"a":"b"}}"#
        var job = Job(id: "j", hasOwnID: true, entryID: "1-0", target: target, message: Array(body.utf8))
        change(&job)
        return JobSpec(job: job, total: total)
    }

    /// A message to a device group.
    static func group(change: (inout Job) -> Void = { _ in }) -> JobSpec { message(to: .group("key"), change: change) }

    /// An operation without a message.
    static func operation(_ operation: Operation = .subscribe, total: Int = 1) -> JobSpec {
        message(to: operation.isGroupOperation ? .group("key") : .tokens(["t0"]), total: total) { job in
            job.operation = operation
            job.message = []
            if operation.isSubscription { job.subscription = "news" }
            if operation.isGroupOperation {
                job.groupName = "name"
                job.members = ["m0"]
            }
        }
    }
}

extension Claim {
    /// A batch of so many recipients, `t0` and on, whose watermark covers them all unless said.
    static func of(
        _ job: String = "j",
        batch: String = "0",
        epoch: Int = 1,
        count: Int = 1,
        watermark: Int? = nil,
        change: (inout Claim) -> Void = { _ in }
    ) -> Claim {
        named((0..<count).map { "t\($0)" }, job, batch: batch, epoch: epoch, watermark: watermark, change: change)
    }

    static func named(
        _ recipients: [String],
        _ job: String = "j",
        batch: String = "0",
        epoch: Int = 1,
        watermark: Int? = nil,
        change: (inout Claim) -> Void = { _ in }
    ) -> Claim {
        var claim = Claim(job: job, epoch: String(epoch), watermark: watermark ?? recipients.count, taken: [])
        claim.batch = batch
        claim.recipients = recipients.enumerated().map { ClaimedRecipient(index: $0.offset, value: $0.element) }
        change(&claim)
        return claim
    }
}

extension ClaimReply {
    static func empty(permits: Int = 0, claims: [Claim] = [], change: (inout ClaimReply) -> Void = { _ in })
        -> ClaimReply
    {
        var reply = ClaimReply(
            nowMs: 0,
            projectClockOffsetMs: 0,
            holdMs: 0,
            probeMs: 0,
            blockReason: "",
            nextDueMs: 0,
            copying: "",
            unfinished: 1,
            permits: permits,
            pauseReason: "",
            pressure: "",
            newsCursor: "0",
            refusedCursor: "0",
            news: [],
            claims: claims
        )
        change(&reply)
        return reply
    }
}

extension RequestOutcome {
    static let unsent = RequestOutcome.unsent(reason: "no connection")
    static let unanswered = RequestOutcome.ambiguous(reason: "connection lost")

    static func sent(_ id: String = "m") -> RequestOutcome { status(200, #"{"name":"\#(id)"}"#) }

    static func status(_ status: Int, _ body: String = "{}", retryAfter: String? = nil) -> RequestOutcome {
        .answered(
            HTTPAnswer(
                status: status,
                body: Array(body.utf8),
                contentType: "application/json",
                retryAfter: retryAfter
            )
        )
    }

    private static func error(_ status: Int, _ code: String, reason: String = "") -> RequestOutcome {
        let type = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
        let detail =
            reason.isEmpty
            ? #"{"@type":"\#(type)","errorCode":"\#(code)"}"#
            : #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"\#(reason)"}"#
        return self.status(
            status,
            #"{"error":{"code":\#(status),"message":"m","status":"\#(code)","details":[\#(detail)]}}"#
        )
    }

    static let dead = error(404, "UNREGISTERED")
    static let wrongMessage = error(400, "INVALID_ARGUMENT")
    static let refusedToken = status(401, #"{"error":{"code":401,"message":"m","status":"UNAUTHENTICATED"}}"#)
    static let forbidden = status(403, #"{"error":{"code":403,"message":"m","status":"PERMISSION_DENIED"}}"#)
    static let overloaded = error(503, "UNAVAILABLE")
    static let overQuota = error(429, "RESOURCE_EXHAUSTED", reason: "RATE_LIMIT_EXCEEDED")
}

extension RecordCall {
    /// Indexes and letters of its results, as they travel: `s` sent, `f` failed, `u` unknown, `c` cancelled, `x` expired.
    var letters: [Int: String] {
        let words = resultWords
        let indexes = words[0].dropFirst().dropLast().split(separator: ",").compactMap { Int($0) }
        return Dictionary(uniqueKeysWithValues: zip(indexes, words[1].lowercased().map(String.init)))
    }

    /// The results stream's entry.
    var objects: String { resultWords[2] }

    private var resultWords: [String] {
        var command = RedisCommand("X")
        results.append(to: &command)
        return (1..<4).map { String(decoding: command.word($0), as: UTF8.self) }
    }

    /// What becomes of each index: the letter of its result, or `r` for a retry, `p` for one that waits for the probe.
    var fates: [Int: String] {
        var fates = letters
        for retry in retries { fates[retry.index, default: ""] += retry.parked ? "p" : "r" }
        return fates
    }
}

extension HeldRecipient {
    /// A recipient as its text in Redis says; four words are the progress of a group.
    init(index: Int, value: String, history: RecipientHistory = .init()) {
        self.init(ClaimedRecipient(index: index, value: value, history: history))
        if let progress = GroupProgress(value) { text = .members(progress) }
    }

    var value: String { stored.string }
}
