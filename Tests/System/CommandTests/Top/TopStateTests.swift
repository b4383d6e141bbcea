import Testing

@testable import fanfare

@Suite struct TopStateTests {
    private let rows: [TopState.Row] = [.project("a"), .project("b"), .job("j", project: "a")]

    private func state(_ keys: [TopKey], from start: TopState = TopState()) -> (TopState, [TopState.Effect]) {
        var state = start
        let effects = keys.compactMap { state.press($0, rows: rows, page: 2) }
        return (state, effects)
    }

    @Test(
        arguments: [
            ([], 0), ([.down], 1), ([.text("j"), .text("j"), .text("j")], 2), ([.down, .up, .up], 0), ([.pageDown], 2),
            ([.end, .text("k")], 1), ([.text("G"), .home], 0),
        ] as [([TopKey], Int)]
    )
    func keysMoveTheSelection(keys: [TopKey], index: Int) {
        #expect(state(keys).0.selection(rows) == rows[index])
    }

    @Test func pauseIsAskedThenTakesAReason() {
        let typed: [TopKey] = [.down, .text("p"), .text("y"), .text("o"), .text("x"), .backspace, .text("k"), .enter]
        let (after, effects) = state(typed)
        #expect(effects == [.perform(.init(verb: .pause, row: .project("b"), reason: "ok"))])
        #expect(after.mode == .list)
        #expect(state([.end, .text("r"), .text("y"), .enter]).1 == [.perform(.init(verb: .resume, row: rows[2]))])
    }

    @Test(arguments: [[.text("n")], [.enter], [.escape], [.text("y"), .escape]] as [[TopKey]])
    func anyOtherAnswerChangesNothing(answer: [TopKey]) {
        let (after, effects) = state([.text("p")] + answer)
        #expect(effects.isEmpty && after.mode == .list)
    }

    @Test func typedReasonIsBoundedAndHoldsNoKeys() {
        let keys = [TopKey.text("p"), .text("y")] + [TopKey](repeating: .text("q"), count: 500)
        guard case .reason(let change) = state(keys).0.mode else { return #expect(Bool(false)) }
        #expect(change.reason.count == TopState.longestReason)
    }

    @Test func enterOpensAndEscapeReturns() {
        let (opened, _) = state([.end, .enter])
        #expect(opened.opened == "a" && opened.selected == .job("j", project: "a"))
        #expect(state([.backspace], from: opened).0 == TopState(selected: .project("a")))
        #expect(state([.text("q")]).1 == [.quit])
        #expect(state([.text("?"), .text("p")]).0.mode == .list)
        #expect(state([.text("s"), .text("s")]).0.sort == .rate)
        #expect(state([.text("i")]).0.showsIdle)
    }

    @Test func readOnlyStateSelectsAndAsksNothing() {
        let (after, effects) = state([.down, .text("p"), .text("y"), .enter], from: TopState(canAct: false))
        #expect(effects.isEmpty && after.mode == .list && after.selection(rows) == nil && after.opened == nil)
    }

    @Test func goneSelectionFallsBackToTheFirstRow() {
        #expect(TopState(selected: .project("gone")).selection(rows) == rows[0])
        #expect(TopState().selection([]) == nil)
        #expect(state([.text("p")], from: TopState()).0.mode != .list)
        var empty = TopState()
        #expect(empty.press(.text("p"), rows: [], page: 1) == nil && empty.mode == .list)
    }

    @Test(
        arguments: [
            ("\u{1B}[A\u{1B}OB", [.up, .down]), ("\u{1B}", [.escape]), ("jk\r", [.text("j"), .text("k"), .enter]),
            ("\u{1B}[5~\u{1B}[6~\u{1B}[H\u{1B}[F", [.pageUp, .pageDown, .home, .end]),
            ("\u{7F}\u{8}", [.backspace, .backspace]),
            ("é上", [.text("é"), .text("上")]), ("\u{1B}[1;5Cx", [.text("x")]), ("\u{1B}[", []), ("\u{0}\u{1}", []),
        ] as [(String, [TopKey])]
    )
    func bytesBecomeKeys(text: String, keys: [TopKey]) { #expect(TopKey.keys(Array(text.utf8)) == keys) }

    @Test func randomBytesNeverTrap() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                [0x1B, 0x5B, 0x4F, 0x7E, 0x41, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random)
                    ?? 0
            }
            _ = state(TopKey.keys(bytes))
        }
    }
}
