/// What is sent: a message and the tokens it goes to.
enum Payload {
    /// A push as applications send it: shown text, two data values, a priority.
    static let messageFields = #"""
        "notification":{"title":"Your order is on its way","body":"It arrives today between 14:00 and 16:00."},\#
        "data":{"order":"4711","screen":"tracking"},"android":{"priority":"HIGH"}
        """#

    /// The same in the legacy protocol's words.
    static let legacyFields = #"""
        "notification":{"title":"Your order is on its way","body":"It arrives today between 14:00 and 16:00."},\#
        "data":{"order":"4711","screen":"tracking"},"priority":"high"
        """#

    static var message: String { "{\(messageFields)}" }

    /// The same message with placeholders: a recipient's values of ``element(_:)`` make it as long.
    static var personalMessage: String {
        "{" + messageFields.replacing("Your order", with: "{{greeting}} order").replacing("4711", with: "{{order}}")
            + "}"
    }

    /// A recipient of a personal job, as compact JSON.
    static func element(_ index: Int) -> String {
        "{\"token\":\"\(token(index))\",\"vars\":{\"greeting\":\"Your\",\"order\":\(1_000 + index % 9_000)}}"
    }

    static func recipientArray(_ count: Int) -> String { "[" + (0..<count).map(element).joined(separator: ",") + "]" }

    /// The request of one send, as the worker writes it.
    static func body(token: String) -> String { "{\"message\":{\(messageFields),\"token\":\"\(token)\"}}" }

    /// The request of one send, as firebase-admin for Python writes it.
    static func sdkBody(token: String) -> String {
        #"{"message": {"android": {"priority": "high"}, "data": {"order": "4711", "screen": "tracking"}, "#
            + #""notification": {"body": "It arrives today between 14:00 and 16:00.", "#
            + #""title": "Your order is on its way"}, "token": "\#(token)"}}"#
    }

    static var headers: [String] {
        ["Authorization: Bearer \(Sink.accessToken)", "Content-Type: application/json; charset=utf-8"]
    }

    /// As long as FCM's registration tokens, each different.
    static func token(_ index: Int) -> String {
        let number = String(index)
        let head = String(repeating: "0", count: max(0, 11 - number.count)) + number + "aBcDeFgHiJk:APA91b"
        return head + String(repeating: "x9Yz_w-3", count: 15) + "Qd"
    }

    static func tokenArray(_ count: Int) -> String {
        "[" + (0..<count).map { "\"\(token($0))\"" }.joined(separator: ",") + "]"
    }
}
