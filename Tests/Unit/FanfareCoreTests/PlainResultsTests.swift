import FanfareCore
import FanfareModel
import Testing

@Suite struct PlainResultsTests {
    private func result(_ number: Int) -> PlainResult {
        PlainResult(
            index: number * 1_000,
            kind: RecipientKind.allCases[number % RecipientKind.allCases.count],
            recipient: number % 4 == 3 ? "" : "tö\(number)",
            messageID: number % 3 == 2 ? "" : "id-\(number)",
            attempts: number
        )
    }

    @Test func whatGoesInComesOut() {
        let all = (0..<20).map(result)
        var results = PlainResults()
        for (number, result) in all.enumerated() {
            if number.isMultiple(of: 2) {
                results.append(result)
            } else {
                results.append(
                    index: result.index,
                    kind: result.kind,
                    recipient: SharedText(result.recipient),
                    messageID: Array(result.messageID.utf8)[...],
                    attempts: result.attempts
                )
            }
            results.reserve(20)
        }
        #expect(results.count == 20 && Array(results) == all)
        #expect(Array(PlainResults()).isEmpty && PlainResults().isEmpty)
    }

    @Test func whatWasPutTogetherComesApartAgain() {
        var (next, all) = (0, PlainResults())
        let parts = [0, 3, 1, 0, 7, 2].map { count in
            var part = PlainResults()
            for _ in 0..<count {
                part.append(result(next))
                next += 1
            }
            all.append(part)
            return part
        }
        #expect(all.count == 13 && Array(all) == (0..<13).map(result))
        #expect(all.divided(into: parts.map(\.count)) == parts)
    }

    /// Numbers are written as Swift writes them, whatever their length.
    @Test func numbersAreWrittenInDigits() {
        var numbers = [0, 9, 10, 99, 100, 12_345, Int.max, Int.min, -1, Int.max - 1]
        for digits in 0..<18 {
            let limit = (0..<digits).reduce(1) { limit, _ in limit * 10 }
            numbers += [limit, limit - 1, limit + 1]
        }
        for number in numbers {
            var bytes: [UInt8] = []
            bytes.append(addingCapacity: 20) { $0.put(decimal: number) }
            #expect(String(decoding: bytes, as: UTF8.self) == String(number))
        }
    }
}
