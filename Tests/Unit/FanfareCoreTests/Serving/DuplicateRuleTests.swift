import FanfareCore
import Testing

/// What becomes of a request that equals earlier ones.
@Suite struct DuplicateRuleTests {
    private typealias Record = DuplicateRule.Record
    private static let place = DuplicateRule.Place(job: "gw-1", indices: 3..<4)
    private static let other = DuplicateRule.Place(job: "gw-2", indices: 0..<1)
    private static let answer = ServedAnswer(status: 503, type: nil)

    private static func entry(_ gateway: String, _ record: Record) -> DuplicateRule.Entry {
        DuplicateRule.Entry(RequestName(gateway: gateway, number: 7), record)
    }

    private func decide(_ entries: [DuplicateRule.Entry], living: Set<String> = ["own", "b"]) -> DuplicateRule.Decision
    {
        DuplicateRule.decide(entries, gateway: "own", living: living)
    }

    @Test func requestWithoutEarlierOnesIsSent() { #expect(decide([]) == .send) }

    @Test func openRequestOfTheSameGatewayIsAnotherSend() {
        #expect(decide([Self.entry("own", .open(Self.place))]) == .send)
        #expect(decide([Self.entry("own", .open(Self.place))], living: []) == .send)
    }

    @Test func openRequestOfALivingGatewayIsAwaited() {
        #expect(decide([Self.entry("b", .open(Self.place))]) == .wait)
        #expect(decide([Self.entry("own", .open(Self.other)), Self.entry("b", .open(Self.place))]) == .wait)
    }

    @Test func openRequestOfADeadGatewayIsTakenOver() {
        let entry = Self.entry("dead", .open(Self.place))
        #expect(decide([entry]) == .takeOver(entry, Self.place))
        #expect(decide([Self.entry("b", .open(Self.other)), entry]) == .takeOver(entry, Self.place))
    }

    @Test(arguments: ["own", "b", "dead"]) func requestThatItsClientLeftIsTakenOver(gateway: String) {
        let entry = Self.entry(gateway, .left(Self.place))
        #expect(decide([entry]) == .takeOver(entry, Self.place))
        #expect(decide([entry, Self.entry("b", .open(Self.other))]) == .takeOver(entry, Self.place))
        #expect(decide([Self.entry("b", .open(Self.other)), entry]) == .takeOver(entry, Self.place))
    }

    @Test func answerThatClientsRepeatIsGivenAgain() {
        let entry = Self.entry("dead", .answered(Self.answer))
        #expect(decide([entry]) == .answer(Self.answer))
        #expect(decide([Self.entry("b", .left(Self.place)), entry]) == .answer(Self.answer))
    }

    @Test func recordIsReadAsItWasWritten() {
        let answer = ServedAnswer(
            status: 503,
            type: "application/json; charset=UTF-8",
            body: Array("{\"error\":{}}\n".utf8),
            headers: [.init("X-Fanfare-Job", "gw-1")]
        )
        let wide = DuplicateRule.Place(job: "a.b:c_d-e", indices: 7..<1_007)
        for record in [
            .open(Self.other), .open(wide), .left(wide), .answered(answer), .answered(Self.answer),
        ] as [Record] {
            #expect(Record(record.text) == record)
        }
    }

    @Test(
        arguments: [
            "", "open", "open a 0", "open a 0 0", "open a -1 1", "open a 2 1", "left a 0 1001", "left a x 1",
            "open a 0 1 2", "answered", "answered {}", "answered {}\n", "answered {\"status\":99}\n", "answered [",
            "other a 0 1",
        ]
    )
    func otherTextsAreNoRecord(_ text: String) { #expect(Record(Array(text.utf8)) == nil) }

    @Test func nameIsReadAsItWasWritten() {
        let name = RequestName(gateway: "gw-a", number: .max)
        #expect(RequestName(name.text) == name)
        for text in ["", ".1", "a", "a.", "a.b", "a.1.2", "a.-1"] { #expect(RequestName(text) == nil, "\(text)") }
    }

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
