import FanfareModel
import RedisTransport
import StreamWire
import Testing

/// Refusals as workers report them, and the block that they lead to.
extension LibraryBench {
    static let denied = "HTTP 403 PERMISSION_DENIED: no permission"

    /// A claim of a worker that holds so many recipients that were not refused.
    ///
    /// - Parameter others: how many of them are of other jobs than the refused ones; nil for all.
    func call(_ worker: String, held: Int?, others: Int? = nil, most: Int = 1) -> ClaimCall {
        var call = ClaimCall(
            worker: worker,
            most: most,
            wanted: 1_000,
            wantedSingle: 1_000,
            window: 1_000,
            retries: 1_000,
            quotaPerMinute: 600_000
        )
        call.held = held
        call.others = others ?? held
        return call
    }

    func control(_ field: String) async throws -> String? {
        try await call(RedisCommand("HGET", keys.base + "ctl", field)).string
    }

    /// The next probe is due.
    func minutePasses() async throws {
        _ = try await call(RedisCommand("HSET", keys.base + "ctl", "block_until", "1"))
    }

    /// Every waiting recipient is due.
    func waitsEnd() async throws {
        for set in ["again", "retry", "retry_many"] {
            for member in try await words(RedisCommand("ZRANGE", keys.base + set, "0", "-1")) {
                _ = try await call(RedisCommand("ZADD", keys.base + set, "1", member))
            }
        }
    }

    func flush(_ claim: Claim, number: Int = 1) -> RecordCall {
        var record = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        record.number = number
        record.finish = true
        return record
    }

    /// FCM refuses every recipient of a claim, and these hashes are the evidence.
    func refusal(_ claim: Claim, _ hashes: [UInt64], credential: UInt64 = 7) -> RecordCall {
        var record = flush(claim)
        let history = RecipientHistory(attempts: 1, firstAttemptMs: 1, refusals: 1)
        record.retries = claim.recipients.map {
            .init(index: $0.index, dueMs: 4_000_000_000_000, parked: false, packed: history.packed(with: $0.value))
        }
        record.refusal = Self.denied
        record.refused = hashes
        record.refusedCredential = credential
        return record
    }

    /// FCM refuses the only recipient of a job.
    func refuse(job id: String, _ hash: UInt64, credential: UInt64 = 7) async throws {
        try await intake(id, tokens(1))
        let claim = try #require(try await self.claim("w1").claims.first { $0.job == id })
        #expect(try await record(refusal(claim, [hash], credential: credential), "w1") == .ok())
    }

    /// A send with the credential is accepted, which a worker says once.
    func accept(job id: String = "accepted", credential: UInt64 = 7, inDoubt: Bool = false) async throws {
        try await intake(id, tokens(1))
        let claim = try #require(try await self.claim("w1").claims.first { $0.job == id })
        var accepted = flush(claim)
        accepted.results = ResultBuffer([sent(0)])
        accepted.acceptedCredential = credential
        accepted.projectAnswers = inDoubt
        #expect(try await record(accepted, "w1") == .ok())
    }

    /// Four refused recipients wait, and the fifth has just blocked the project.
    func block() async throws {
        try await accept()
        for index in 1...5 { try await refuse(job: "refused\(index)", UInt64(index)) }
        #expect(try await control("block") == Self.denied)
    }
}
