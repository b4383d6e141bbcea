import Foundation
import Testing

@testable import BenchKit

struct PayloadTests {
    @Test func bodiesAreJSON() throws {
        let object = try JSONSerialization.jsonObject(with: Data(Payload.body(token: "T").utf8)) as? [String: Any]
        let message = try #require(object?["message"] as? [String: Any])
        #expect(message["token"] as? String == "T")
        #expect(message["notification"] != nil)
        let own = try JSONSerialization.jsonObject(with: Data(Payload.message.utf8)) as? [String: Any]
        #expect(own?["token"] == nil && own?["data"] != nil)
    }

    @Test func tokensAreLongAndDifferent() throws {
        let tokens = try JSONDecoder().decode([String].self, from: Data(Payload.tokenArray(500).utf8))
        #expect(Set(tokens).count == 500)
        #expect(tokens.allSatisfy { (140...170).contains($0.utf8.count) })
        let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:.-")
        #expect(tokens.allSatisfy { $0.allSatisfy(allowed.contains) })
    }

    @Test func theLegacyBodyIsJSONWithoutATarget() throws {
        let text = "{\(Payload.legacyFields)}"
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        #expect(object?["priority"] as? String == "high")
        #expect(object?["registration_ids"] == nil)
    }

    /// The values make the personal message as long as the equal one: both sides of the comparison send the same bytes.
    @Test func personalMessageIsAsLongAsTheEqualOne() throws {
        struct Element: Decodable {
            struct Values: Decodable { var greeting: String, order: Int }
            var token: String
            var vars: Values
        }
        let elements = try JSONDecoder().decode([Element].self, from: Data(Payload.recipientArray(300).utf8))
        #expect(elements.map(\.token) == (0..<300).map(Payload.token))
        for element in elements {
            let filled = Payload.personalMessage.replacing("{{greeting}}", with: element.vars.greeting)
                .replacing("{{order}}", with: "\(element.vars.order)")
            #expect(filled.utf8.count == Payload.message.utf8.count)
        }
    }
}
