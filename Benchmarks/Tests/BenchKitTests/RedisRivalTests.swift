import Foundation
import Testing

@testable import BenchKit

struct RedisRivalTests {
    @Test func everyArgumentFitsACommandLine() {
        let limit = 128 * 1_024
        for command in RedisRival.commands {
            #expect(command.allSatisfy { $0.utf8.count < limit })
            #expect(command.reduce(0) { $0 + $1.utf8.count } < 2_000_000)
        }
    }

    @Test func theBytesAreThoseOfAThousandRecipients() throws {
        let written = RedisRival.commands.filter { $0.first == "XADD" }
        #expect(written.count == 3)
        #expect(RedisRival.commands.filter { $0.first == "XREVRANGE" }.count == 2)
        let tokens = try #require(written.first).joined().utf8.count
        #expect((1_000 * 140...1_000 * 180).contains(tokens))
        let results = try #require(written.last)
        let parts = stride(from: 7, to: results.count, by: 2).map { results[$0] }
        let list = try JSONSerialization.jsonObject(with: Data("[\(parts.joined(separator: ","))]".utf8)) as? [Any]
        #expect(list?.count == 1_000)
    }
}
