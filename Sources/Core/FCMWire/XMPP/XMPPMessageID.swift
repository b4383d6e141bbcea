/// The id of a message over XMPP: it names the job and the recipient, so that an answer does, and a receipt that comes
/// hours later on another connection.
public struct XMPPMessageID: Equatable, Hashable, Sendable, CustomStringConvertible {
    /// 1 to 128 of `A-Z a-z 0-9 . _ : -`.
    public var job: String
    /// The recipient's index in the job.
    public var index: Int
    /// How many attempts at the recipient counted before this one. Not enough to tell two messages apart: what is
    /// certain not to have been sent is sent again with the same number.
    public var attempt: Int
    /// Tells apart two messages that are equal in everything else. A worker that takes over from a lost one sends with
    /// the same numbers, so each process has to begin at a random place of its own, and counts on from there.
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
        guard parts.count == 4, (1...128).contains(parts[0].count), parts[0].allSatisfy(Self.isOfID),
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

    private static func isOfID(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"),
            UInt8(ascii: "-"):
            return true
        default: return false
        }
    }
}
