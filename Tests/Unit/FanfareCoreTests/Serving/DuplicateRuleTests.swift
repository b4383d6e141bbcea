import FanfareCore
import Testing

/// What a request leaves behind for an equal one.
@Suite struct DuplicateRuleTests {
    @Test func memoryIsReadAsItWasWritten() {
        let answer = ServedAnswer(
            status: 503,
            type: "application/json; charset=UTF-8",
            body: Array("{\"error\":{}}\n".utf8),
            headers: [.init("X-Fanfare-Job", "gw-1")]
        )
        for memory in [
            .job("gw-1", indices: 0..<1), .job("a.b:c_d-e", indices: 7..<1_007), .answer(answer),
            .answer(ServedAnswer(status: 500, type: nil)),
        ] as [DuplicateRule.Memory] {
            #expect(DuplicateRule.memory(DuplicateRule.text(memory)) == memory)
        }
    }

    @Test(
        arguments: [
            "", "job", "job a 0", "job a 0 0", "job a -1 1", "job a 2 1", "job a 0 1001", "job a x 1", "job a 0 1 2",
            "answer", "answer {}", "answer {}\n", "answer {\"status\":99}\n", "answer [", "other a 0 1",
        ]
    )
    func otherTextsAreNoMemory(_ text: String) { #expect(DuplicateRule.memory(Array(text.utf8)) == nil) }

    @Test func onlyAnswersThatClientsRepeatAreRemembered() {
        for status in 200...599 {
            let isRepeated = DuplicateRule.isRepeated(ServedAnswer(status: status, type: nil))
            #expect(isRepeated == [500, 503].contains(status))
        }
    }

    @Test func requestsThatDifferHaveOtherIdentities() {
        let parts = [
            ("k", "p", "/a", "b"), ("kp", "", "/a", "b"), ("k", "q", "/a", "b"), ("k", "p", "/b", "b"),
            ("k", "p", "/a", "c"),
        ]
        let all = parts.map { DuplicateRule.identity(key: $0.0, project: $0.1, path: $0.2, body: Array($0.3.utf8)) }
        #expect(Set(all).count == parts.count)
    }
}
