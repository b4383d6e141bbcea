import StreamWire
import Testing

private func bulk(_ text: String) -> RedisValue { .bulk(Array(text.utf8)) }
private func words(_ texts: String...) -> RedisValue { .array(texts.map(bulk)) }

/// An outcome with further names and their values.
private func reply(_ outcome: String, _ pairs: String...) -> RedisValue {
    .array((["outcome", outcome] + pairs).map(bulk))
}

@Suite struct ControlReplyTests {
    @Test(arguments: [
        (reply("ok", "state", "paused"), JobControlReply.ok(state: "paused")),
        (reply("over", "state", "done"), .over(state: "done")), (bulk("missing"), .missing), (bulk("parked"), .parked),
        (reply("ok", "later", "x", "state", "active"), .ok(state: "active")),
    ])
    func jobControlRepliesAreRead(value: RedisValue, reply: JobControlReply) {
        #expect(JobControlReply(value) == reply)
    }

    @Test(arguments: [
        (reply("resumed", "job", "j"), ReplayReply.resumed(job: "j")),
        (reply("pushed", "entry", "5-0"), .pushed(entryID: "5-0")), (bulk("missing"), .missing),
        (reply("gone", "job", "j"), .gone(job: "j")),
    ])
    func replayRepliesAreRead(value: RedisValue, reply: ReplayReply) { #expect(ReplayReply(value) == reply) }

    @Test func dropRepliesAreRead() {
        #expect(DropReply(reply("dropped", "job", "j")) == .dropped(job: "j"))
        #expect(DropReply(bulk("missing")) == .missing)
    }

    @Test(arguments: [
        RedisValue.null, .integer(1), .array([]), .array([.null]), bulk("ok"), bulk("over"), bulk("resumed"),
        reply("dropped"), reply("what", "job", "j"), .array([.array([]), bulk("j")]), words("ok", "paused"),
    ])
    func malformedRepliesAreNil(value: RedisValue) {
        #expect(JobControlReply(value) == nil)
        #expect(ReplayReply(value) == nil)
        #expect(DropReply(value) == nil)
        #expect(OverviewReply(value) == nil)
        #expect(JobPlan(value) == nil)
        #expect(JobInquiry.milliseconds(value) == nil)
    }

    @Test func overviewIsReadByName() throws {
        let text = """
            active|j k|active_left|- 1500|now_ms|1700000000000|paused|1|pause_reason|lunch|block||hold_ms|250|pressure|memory|open|12|parked|1\
            |entries|7|retrying|3|scheduled|2|waiting_fanouts|4|workers|5|quota|600000|rate|164.25|epoch|9|later|x
            """
        let value = RedisValue.array(
            text.split(separator: "|", omittingEmptySubsequences: false).map { bulk(String($0)) }
        )
        let reply = try #require(OverviewReply(value))
        #expect(reply.nowMs == 1_700_000_000_000)
        #expect(reply.isPaused && reply.pauseReason == "lunch")
        #expect(reply.blockReason.isEmpty && reply.holdMs == 250 && reply.pressure == "memory")
        #expect(reply.open == 12 && reply.parked == 1 && reply.entries == 7 && reply.retrying == 3)
        #expect(reply.scheduled == 2 && reply.waitingFanouts == 4 && reply.workers == 5)
        #expect(reply.quotaPerMinute == 600_000 && reply.permitsPerSecond == 164.25)
        #expect(reply.active == ["j", "k"] && reply.activeLeftMs == ["k": 1_500] && reply.epoch == "9")
    }

    /// No worker keeps up the note of dead ones.
    @Test func backpressureCountsWhileAWorkerLives() throws {
        func overview(alive: String) throws -> OverviewReply {
            try #require(OverviewReply(words("now_ms", "1", "workers", "2", "pressure", "memory", "alive", alive)))
        }
        #expect(try overview(alive: "1").pressureText == OverviewReply.text(ofPressure: "memory"))
        #expect(try overview(alive: "0").pressureText == nil)
    }

    @Test(arguments: ["nan", "inf", "-1", "", "x"])
    func malformedRateIsZero(rate: String) throws {
        #expect(try #require(OverviewReply(words("now_ms", "1", "rate", rate))).permitsPerSecond == 0)
    }

    @Test func overviewWithoutTheTimeIsNil() {
        #expect(OverviewReply(words("open", "1")) == nil)
        #expect(OverviewReply(words("now_ms", "1", "open")) == nil)
    }

    @Test func planAndItsQueueMemberAreRead() throws {
        let member = ProjectKeys.queueMember(priority: 5, entryID: "17-2", jobID: "a:b")
        let plan = try #require(JobPlan(.array([bulk("aimed"), bulk(member), bulk("1500")])))
        #expect(plan.jobClass == .broadcast && plan.jobClass.takesTurns && plan.slotMs == 1_500)
        #expect(JobInquiry.job(ofMember: plan.member) == "a:b")
        #expect(JobInquiry.job(ofMember: "none") == nil)
        #expect(JobPlan(.array([.null, .null, .null])) == nil)
        #expect(JobPlan.Class.single.takesTurns == false && JobPlan.Class.group.takesTurns == false)
    }

    @Test func timeReplyBecomesMilliseconds() {
        #expect(JobInquiry.milliseconds(words("1700000000", "123999")) == 1_700_000_000_123)
        #expect(JobInquiry.milliseconds(words("9223372036854775807", "0")) == nil)
    }
}
