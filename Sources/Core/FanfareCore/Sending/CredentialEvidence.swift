/// What FCM's answers have said of the project's credential: which one it accepted, and which access token one or more
/// recipients refused.
struct CredentialEvidence {
    enum Doubt: Equatable {
        /// The first refusal of the access token since the last accepted send.
        case first
        /// Only this recipient has refused the access token since.
        case sameRecipient
        /// Another recipient refused the access token, too.
        case otherRecipient
    }

    /// The fingerprint of the credential that had the last accepted send; 0: unknown.
    private var accepted: UInt64 = 0
    /// The access token that was refused first since the last accepted send, and the hash of its recipient's name.
    private var doubted: (token: Int, recipient: UInt64)?
    /// The access token that was last refused for a member of a group.
    private var refusedForMember: Int?
    /// Accepted sends so far.
    private(set) var acceptedSends = 0
    /// Jobs with a recipient that FCM refused since the project is blocked; empty while it is not.
    private(set) var refusedJobs: Set<String> = []

    /// So many refused jobs of a blocked project are known; a probe of any other may be refused, too.
    private static let maximumRefusedJobs = 10_000

    /// Whether FCM has accepted a send with this credential, and with no other one since.
    func isAccepted(_ fingerprint: UInt64) -> Bool { fingerprint != 0 && fingerprint == accepted }

    /// FCM accepted a send.
    ///
    /// - Returns: whether the send before it had another credential.
    mutating func accept(_ fingerprint: UInt64) -> Bool {
        defer { accepted = fingerprint }
        doubted = nil
        acceptedSends += 1
        return fingerprint != accepted
    }

    /// Redis did not take the proof of the accepted credential: the next accepted send brings it again.
    mutating func forgetAccepted() { accepted = 0 }

    /// A recipient refused an access token.
    mutating func doubt(_ token: Int, recipient: UInt64) -> Doubt {
        guard let doubted, doubted.token == token else {
            doubted = (token, recipient)
            return .first
        }
        return doubted.recipient == recipient ? .sameRecipient : .otherRecipient
    }

    /// A member of a group refused an access token.
    ///
    /// - Returns: whether the token is newer than the one that was refused before: a third will not help.
    mutating func refuseForMember(_ token: Int) -> Bool {
        defer { refusedForMember = token }
        return refusedForMember.map { token > $0 } ?? false
    }

    /// A member of a group was sent to.
    mutating func acceptForMember() { refusedForMember = nil }

    /// FCM refused a recipient of a job while the project is blocked.
    mutating func refuseJob(_ id: String) {
        if refusedJobs.count < Self.maximumRefusedJobs { refusedJobs.insert(id) }
    }

    /// The project is not blocked any more.
    mutating func endBlock() { refusedJobs = [] }
}
