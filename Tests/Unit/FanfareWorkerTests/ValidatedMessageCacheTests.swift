import FCMWire
import FanfareModel
import StreamWire
import Testing

@testable import FanfareCore
@testable import FanfareWorker

@Suite struct ValidatedMessageCacheTests {
    private let text = #"{"notification":{"title":"t"}}"#

    private func job(_ message: String, id: String = "j") -> Job {
        Job(id: id, hasOwnID: true, entryID: "1-0", target: .tokens(["a"]), message: Array(message.utf8))
    }

    private func adapter(_ job: Job) throws -> ProtocolAdapter {
        try ProtocolAdapter(JobSpec(job: job, total: 1), job: job.id, settings: ProtocolSettings())
    }

    private func body(_ adapter: ProtocolAdapter?) -> String? {
        let attempt = Attempt(job: "j", index: 0, number: 0, nonce: 0, credentialProject: "p", nowMs: 0)
        let request = adapter?.ask { $0.request(RequestRecipients(kind: .token, name: "b"), attempt) }
        return request.map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test func equalMessageOfAnotherJobSharesTheAdapter() throws {
        var known = ValidatedMessageCache()
        let first = job(text)
        #expect(known.adapter(of: first) == nil)
        known.insert(first, try adapter(first))
        let other = job(text, id: "other")
        #expect(body(known.adapter(of: other)) == body(try adapter(other)))
        #expect(known.adapter(of: job(text + " ")) == nil)
        #expect(known.adapter(of: job(#"{"notification":{"title":"u"}}"#)) == nil)
    }

    /// Each of these changes what is allowed in a message, or the request that is made of it.
    @Test func formatTargetAndModeAreCompared() throws {
        var known = ValidatedMessageCache()
        let plain = job(text)
        known.insert(plain, try adapter(plain))
        let changes: [(inout Job) -> Void] = [
            { $0.format = .legacy },
            { $0.validateOnly = true },
            { $0.target = .topic("t") },
            { $0.target = .condition("'t' in topics") },
            { $0.delivery = .replace },
            { $0.operation = .subscribe },
        ]
        for (index, change) in changes.enumerated() {
            var changed = plain
            change(&changed)
            #expect(known.adapter(of: changed) == nil, "change \(index)")
        }
        #expect(known.adapter(of: plain) != nil)
    }

    @Test func recipientsOfOneKindShareAMessage() throws {
        var known = ValidatedMessageCache()
        let first = job(text)
        known.insert(first, try adapter(first))
        var group = first
        group.target = .group("g")
        group.delivery = .atMostOnce
        #expect(known.adapter(of: group) != nil)
    }

    /// The request holds a mark made of the first job's id, which would replace the second job's on the device.
    @Test func requestMadeForOneJobIsNotCached() throws {
        var known = ValidatedMessageCache()
        var first = job(text)
        first.delivery = .replace
        known.insert(first, try adapter(first))
        #expect(known.adapter(of: first) == nil)
        first.delivery = .atLeastOnce
        #expect(known.adapter(of: first) == nil)
    }

    @Test func oldestMessageMakesRoom() throws {
        var known = ValidatedMessageCache()
        let jobs = (0...ValidatedMessageCache.most).map { job(#"{"data":{"n":"\#($0)"}}"#) }
        for job in jobs { known.insert(job, try adapter(job)) }
        #expect(known.adapter(of: jobs[0]) == nil)
        #expect(jobs.dropFirst().allSatisfy { known.adapter(of: $0) != nil })
    }
}
