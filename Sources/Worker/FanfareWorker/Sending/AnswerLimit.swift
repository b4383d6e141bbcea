internal import FanfareModel

/// The largest body of an answer that is read, by the kind of its request, in bytes. A longer answer is cut.
enum AnswerLimit {
    /// Changes of topics and device groups: a thousand results.
    static let ofManagement = 65_536
    /// A page of the topics of one token: a hundred names of 900 characters, each written twice beside the token.
    static let ofList = 524_288

    /// HTTP v1 answers with one name or one error. A legacy answer has a thousand results, each with an id and perhaps a
    /// canonical token.
    static func ofSend(over transport: Transport) -> Int {
        switch transport {
        case .v1, .xmpp: 16_384
        case .legacy: 262_144
        }
    }
}
