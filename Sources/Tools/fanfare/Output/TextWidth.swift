/// Measures and shortens text by the columns that a terminal gives it.
enum TextWidth {
    /// Where a text that is too long loses characters.
    enum Cut { case middle, end }

    /// Ranges of wide characters: East Asian scripts, full-width forms and pictographs.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
        0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
        0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD,
    ]

    /// Columns of a text. An unusual emoji may need fewer: a line is never longer than it is measured.
    static func of(_ text: some StringProtocol) -> Int {
        text.utf8.allSatisfy { $0 < 0x80 } ? text.utf8.count : text.unicodeScalars.reduce(0) { $0 + of($1) }
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return 1 }
        // The selector of an emoji's picture makes the character before it wide.
        if scalar.value == 0xFE0F { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        let isWide = scalar.properties.isEmojiPresentation || wide.contains { $0.contains(scalar.value) }
        return isWide ? 2 : 1
    }

    /// The text in at most `width` columns, with `…` in the place of what was cut.
    static func shortened(_ text: String, to width: Int, cut: Cut = .end) -> String {
        guard of(text) > width else { return text }
        guard width > 0 else { return "" }
        let tail = cut == .end ? 0 : (width - 1) / 2
        let start = prefix(text, width - 1 - tail)
        let end = String(prefix(String(text.reversed()), tail).reversed())
        return start + "…" + end
    }

    private static func prefix(_ text: String, _ width: Int) -> String {
        var room = width
        return String(
            text.prefix {
                room -= of(String($0))
                return room >= 0
            }
        )
    }

    /// Fills a text up to `width` columns.
    static func padded(_ text: String, to width: Int, isNumeric: Bool = false) -> String {
        let gap = String(repeating: " ", count: max(0, width - of(text)))
        return isNumeric ? gap + text : text + gap
    }

    /// The parts that fit into `width`, in their order, separated by two spaces. A part is shown whole or not at all.
    /// - Parameter parts: each with its rank; the part of the highest rank goes first.
    static func fitted(_ parts: [(text: String, rank: Int)], width: Int?) -> String {
        var kept = parts.filter { !$0.text.isEmpty }
        func line() -> String { kept.map(\.text).joined(separator: "  ") }
        while let width, of(line()) > width, let last = kept.indices.max(by: { kept[$0].rank < kept[$1].rank }) {
            kept.remove(at: last)
        }
        return line()
    }
}
