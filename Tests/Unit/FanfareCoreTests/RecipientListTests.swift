import FanfareModel
import Testing

@Suite struct RecipientListTests {
    @Test func givesBackWhatWasPutIn() {
        let texts = ["a", "", "bc", "größer", "d"]
        let list = RecipientList(texts)
        #expect(Array(list) == texts)
        #expect(list[3] == "größer")
        #expect(list == ["a", "", "bc", "größer", "d"])
        #expect(RecipientList().isEmpty)
        #expect(Target.tokens(texts) == .tokens(list))
    }

    @Test(arguments: [0..<0, 0..<1, 1..<3, 0..<4, 3..<4, 4..<4])
    func linesAreASliceOfIt(range: Range<Int>) {
        let list: RecipientList = ["aa", "b", "cc", "d"]
        #expect(String(decoding: list.lines(range), as: UTF8.self) == list[range].joined(separator: "\n"))
        #expect(list.byteCount == "aa\nb\ncc\nd".utf8.count)
    }

    /// Parts of the text that named them, and what is no part of it, in any order.
    @Test func recipientsAreReadFromTextAndAdditions() {
        let text = Array(#"["aa","b","größer"]"#.utf8)
        var list = RecipientList(within: text)
        list.append(2..<4)
        list.append("escaped")
        list.append(7..<8)
        list.append("")
        list.append(11..<19)
        list.append(text.count..<text.count)
        let expected = ["aa", "escaped", "b", "", "größer", ""]
        #expect(Array(list) == expected && list == RecipientList(expected))
        #expect(list.indices.map { list.shared($0).string } == expected)
        #expect(list.byteCount == expected.joined(separator: "\n").utf8.count)
        for range in [0..<0, 0..<1, 1..<4, 0..<6, 5..<6] {
            let lines = expected[range].joined(separator: "\n")
            #expect(String(decoding: list.lines(range), as: UTF8.self) == lines)
            #expect(list.byteCount(range) == lines.utf8.count)
            for most in 0..<12 {
                // Part by part, as the wire takes them.
                var (done, whole, rounds): (Int, [UInt8], Int) = (0, [], 0)
                while done < range.count, rounds < 100 {
                    var part: [UInt8] = []
                    list.appendLines(range, from: &done, to: &part, most: most + 1)
                    whole += part
                    rounds += 1
                }
                #expect(whole == Array(lines.utf8), "\(range) by \(most + 1)")
            }
        }
        #expect(list != RecipientList(["aa", "escaped", "b", "", "größer"]) && list != RecipientList(within: text))
    }

    @Test func whatIsMostlySomethingElseIsLetGo() {
        let spaces = [UInt8](repeating: 0x20, count: 10_000)
        var (wide, narrow) = (RecipientList(within: spaces + Array("token".utf8)), RecipientList(within: spaces))
        wide.append(10_000..<10_005)
        narrow.append(0..<6_000)
        wide.append("other")
        #expect(wide.withoutRest == wide && narrow.withoutRest == narrow)
        #expect(wide.withoutRest.shared(0).storage.count < 100 && narrow.withoutRest.shared(0).storage.count == 10_000)
    }

    @Test func anEmptyOneMayStandAlone() {
        let list: RecipientList = [""]
        #expect(list.count == 1 && list.lines(0..<1).isEmpty)
        #expect(list != RecipientList())
    }

    /// Texts that differ by a byte, by their length or by what stands where should not fall together.
    @Test func hashesOfNearTextsDiffer() {
        var seen: Set<UInt64> = []
        var count = 0
        for length in 0..<40 {
            for place in 0...length {
                var bytes = [UInt8](repeating: UInt8(ascii: "t"), count: length)
                if place < length { bytes[place] = UInt8(ascii: "u") }
                seen.insert(ByteHash.of(String(decoding: bytes, as: UTF8.self)))
                count += 1
            }
        }
        // What is taken together changes places, and so do neighbours.
        for length in [16, 24, 32, 40, 160, 168] {
            let bytes = (0..<length).map { UInt8(ascii: "A") + UInt8($0 / 8) }
            for (one, other) in [(0, 8), (8, 16), (0, 16), (16, 32)] where other + 8 <= length {
                var swapped = bytes
                for offset in 0..<8 { swapped.swapAt(one + offset, other + offset) }
                seen.insert(ByteHash.of(String(decoding: swapped, as: UTF8.self)))
                count += 1
            }
            seen.insert(ByteHash.of(String(decoding: bytes, as: UTF8.self)))
            count += 1
        }
        #expect(seen.count == count)
        // A text that is not in one piece, too.
        #expect(ByteHash.of(String(Substring("xtoken").dropFirst())) == ByteHash.of("token"))
    }

    @Test func sharedTextEqualsItsPartOfTheText() {
        let list: RecipientList = ["a", "", "größer", "a"]
        let parts = list.indices.map { list.shared($0) }
        #expect(parts.map(\.string) == Array(list) && parts.map(\.count) == [1, 0, 8, 1])
        #expect(parts[0] == parts[3] && parts[0] == SharedText("a") && parts[0] != parts[1])
        #expect(parts.map { ByteHash.of($0) } == list.map { ByteHash.of($0) })
        let bytes = Array("x".utf8) + [0xFF] + Array("y".utf8)
        #expect(SharedText(0..<2, of: bytes).string == "x\u{FFFD}", "what is no text is repaired")
        var written: [UInt8] = []
        written.append(addingCapacity: 20) { span in
            for part in parts { span.put(part) }
        }
        #expect(written == Array("agrößera".utf8))
    }
}
