/// The largest body of an answer to a request that is no message, in bytes. A longer answer is cut.
enum AnswerLimit {
    /// Changes of topics and device groups: a thousand results.
    static let ofManagement = 65_536
    /// A page of the topics of one token: a hundred names of 900 characters, each written twice beside the token.
    static let ofList = 524_288
}
