internal import FanfareModel

/// The id of a message over XMPP. It names the job and the recipient, and so does every answer, even a receipt that
/// comes hours later on another connection.
public struct XMPPMessageID: Equatable, Hashable, Sendable, CustomStringConvertible {
    /// 1 to 128 of `A-Z a-z 0-9 . _ : -`.
    public var job: String
    /// The recipient's index in the job.
    public var index: Int
    /// How many attempts at the recipient counted before this one. Not unique: a message that was certainly not sent is
    /// sent again with the same number.
    public var attempt: Int
    /// Distinguishes two messages that are equal otherwise. Each process counts from a random number of its own,
    /// because a worker that takes over from a lost one repeats the other numbers.
    public var nonce: UInt64

    public init(job: String, index: Int, attempt: Int, nonce: UInt64) {
        self.job = job
        self.index = index
        self.attempt = attempt
        self.nonce = nonce
    }

    /// Reads what ``description`` wrote; nil for anything else.
    public init?(parsing text: String) {
        guard text.utf8.count <= Self.maximumBytes else { return nil }
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 4, (1...128).contains(parts[0].count),
            parts[0].allSatisfy({ $0.isASCIIAlphanumeric || "._:-".utf8.contains($0) }),
            let index = Int(String(decoding: parts[1], as: UTF8.self)), index >= 0,
            let attempt = Int(String(decoding: parts[2], as: UTF8.self)), attempt >= 0,
            let nonce = UInt64(String(decoding: parts[3], as: UTF8.self), radix: 16)
        else { return nil }
        self.init(job: String(decoding: parts[0], as: UTF8.self), index: index, attempt: attempt, nonce: nonce)
        // One spelling only: a sign, a leading zero or an upper-case digit was not ours.
        guard description == text else { return nil }
    }

    /// `job/index/attempt/nonce`: a job's id has no slash.
    public var description: String {
        "\(job)/\(index)/\(attempt)/\(String(nonce, radix: 16))"
    }

    /// An id of 128, two numbers of 19 digits, 16 hexadecimal digits and the slashes.
    static let maximumBytes = 185
}
