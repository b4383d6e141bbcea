import Testing

@testable import fanfare

@Suite struct TextWidthTests {
    @Test(arguments: [("abc", 3), ("", 0), ("é", 1), ("e\u{301}", 1), ("上海", 4), ("🚀", 2), ("ｱ", 1), ("한", 2)])
    func widthCountsColumns(text: String, width: Int) { #expect(TextWidth.of(text) == width) }

    @Test(
        arguments: [
            ("abcdefgh", 8, .end, "abcdefgh"), ("abcdefgh", 5, .end, "abcd…"), ("abcdefgh", 5, .middle, "ab…gh"),
            ("abcdefgh", 6, .middle, "abc…gh"), ("abcdefgh", 1, .middle, "…"), ("abcdefgh", 0, .end, ""),
            ("上海上海", 5, .end, "上海…"), ("上海上海", 6, .middle, "上…海"),
        ] as [(String, Int, TextWidth.Cut, String)]
    )
    func textIsShortenedWithAnEllipsis(text: String, width: Int, cut: TextWidth.Cut, result: String) {
        #expect(TextWidth.shortened(text, to: width, cut: cut) == result)
    }

    @Test func partsAreShownWholeOrNotAtAll() {
        let parts = [("12 s left", 1), ("50%", 0), ("500/1000", 2), ("", 3)]
        #expect(TextWidth.fitted(parts, width: nil) == "12 s left  50%  500/1000")
        #expect(TextWidth.fitted(parts, width: 20) == "12 s left  50%")
        #expect(TextWidth.fitted(parts, width: 5) == "50%")
        #expect(TextWidth.fitted(parts, width: 2) == "")
    }

    @Test func fittedTableDropsColumnsBeforeItCutsNumbers() {
        var table = TextTable(
            columns: [
                .text("ID", cut: .middle, least: 6), .number("N", rank: 1), .number("M", rank: 2),
                .text("WHY", rank: 3, cut: .end),
            ]
        )
        table.add(["abcdefghijkl", "1000000000", "7", "because it is so"])
        #expect(table.lines(width: nil)[1] == "abcdefghijkl  1000000000  7  because it is so")
        #expect(
            table.lines(width: 34)[1] == "abc…kl  1000000000  7  because it…" || table.lines(width: 34)[1].count <= 34
        )
        #expect(table.lines(width: 34)[1].contains("1000000000"))
        #expect(table.lines(width: 26)[1] == "abcdefghi…l  1000000000  7" || table.lines(width: 26)[1].count <= 26)
        #expect(table.lines(width: 20)[1].hasSuffix("  1000000000"))
        #expect(table.lines(width: 9)[1] == "abcd…ijkl")
        #expect(table.lines(width: 1) == ["…", "…"])
    }
}
