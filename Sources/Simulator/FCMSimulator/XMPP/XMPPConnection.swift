import FanfareModel
import FanfareXML

/// One connection: its handshake, and the messages on it that have no answer yet.
///
/// ```
/// opening ─► authenticating ─► reopening ─► binding ─► bound
/// ```
struct XMPPConnection: Equatable, Sendable {
    enum Stage: Equatable, Sendable {
        /// Before the first stream header.
        case opening
        case authenticating
        /// Authenticated; the client opens the stream again.
        case reopening
        case binding
        case bound
    }

    /// The server's part in a step of the handshake.
    enum Step: Equatable, Sendable {
        case write(String)
        /// The credential is this project's. Its limits decide; then call ``authenticate(_:)``.
        case admit(SimulatedProject)
        /// Ends the stream with this failure of SASL (RFC 6120, section 6.5).
        case refuse(String)
        /// Ends the stream with this error (RFC 6120, section 4.9.3).
        case fail(String, text: String)
    }

    /// The answer to a downstream message, to be written later.
    struct Answer: Equatable, Sendable {
        var messageID: String
        var stanza: [UInt8]
        var dueMs: Int64
    }

    /// Downstream messages without an answer. With so many the server reads no further.
    static let window = 100

    let id: UInt64
    private(set) var stage = Stage.opening
    private(set) var domain = XMPPNames.domains[0]
    private(set) var project: SimulatedProject?
    private(set) var jid = ""
    /// In the order of their messages.
    private(set) var answers: [Answer] = []
    /// Stanzas that were read before the server stopped reading.
    var backlog: [XMLElement] = []
    private(set) var isReading = true
    /// When the server ends a draining connection, Unix milliseconds.
    var drainEndsMs: Int64?
    /// Upstream messages and receipts without an ack, in the order in which they were sent.
    var unacked: [Upstream] = []

    init(id: UInt64) {
        self.id = id
    }

    var isDraining: Bool { drainEndsMs != nil }
    var acceptsUpstream: Bool { stage == .bound && !isDraining && unacked.count < Self.window }
    /// Whether a stream is open, in which an error has its place.
    var isStreamOpen: Bool { stage != .opening && stage != .reopening }

    // MARK: Handshake

    mutating func openStream(_ name: XMLName, _ attributes: [String: String], ids: inout IdentifierSource) -> Step {
        guard !isStreamOpen else { return .fail("bad-format", text: "a second stream") }
        guard name == XMLName("stream", in: XMPPNames.stream) else {
            return .fail("invalid-namespace", text: "expected a stream of \(XMPPNames.stream)")
        }
        guard let to = attributes["to"], XMPPNames.domains.contains(to) else {
            return .fail("host-unknown", text: "the stream is not for \(XMPPNames.domains[0])")
        }
        guard attributes["version"]?.hasPrefix("1.") == true else {
            return .fail("unsupported-version", text: "expected version 1.0")
        }
        domain = to
        let isFirst = stage == .opening
        stage = isFirst ? .authenticating : .binding
        let offer = isFirst ? XMPPText.mechanisms : XMPPText.features
        return .write(XMPPText.header(id: ids.stream(), domain: to) + offer)
    }

    mutating func negotiate(_ element: XMLElement, projects: [SimulatedProject], ids: inout IdentifierSource) -> Step {
        switch stage {
        case .authenticating: return Self.judgeCredential(element, projects: projects)
        case .binding: return bind(element, ids: &ids)
        case .opening, .reopening, .bound: return .fail("not-authorized", text: "before the stream")
        }
    }

    mutating func authenticate(_ project: SimulatedProject) {
        self.project = project
        stage = .reopening
    }

    private static func judgeCredential(_ element: XMLElement, projects: [SimulatedProject]) -> Step {
        guard element.name.namespace == XMPPNames.sasl else {
            return .fail("not-authorized", text: "expected authentication")
        }
        guard element.name.local == "auth" else { return .refuse("aborted") }
        guard element.attributes["mechanism"] == "PLAIN" else {
            // The live service offers these two as well; no credential for them exists here.
            let isOffered = ["X-OAUTH2", "X-GOOGLE-TOKEN"].contains(element.attributes["mechanism"])
            return .refuse(isOffered ? "not-authorized" : "invalid-mechanism")
        }
        guard let bytes = Base64.decode(element.text.utf8) else { return .refuse("incorrect-encoding") }
        let parts = bytes.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let project = projects.first(where: { parts[2].elementsEqual($0.serverKey.utf8) }),
            XMPPNames.domains.contains(where: { parts[1].elementsEqual("\(project.senderID)@\($0)".utf8) })
        else { return .refuse("not-authorized") }
        return .admit(project)
    }

    private mutating func bind(_ element: XMLElement, ids: inout IdentifierSource) -> Step {
        guard element.name == XMLName("iq", in: XMPPNames.client), element.attributes["type"] == "set",
            let wish = element.child("bind", in: XMPPNames.bind), let sender = project?.senderID
        else { return .fail("not-authorized", text: "expected a resource to be bound") }
        let wanted = wish.child("resource", in: XMPPNames.bind)?.text ?? ""
        let isFit = (1...64).contains(wanted.utf8.count) && wanted.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        jid = "\(sender)@\(domain)/" + (isFit ? wanted : ids.stream())
        stage = .bound
        return .write(XMPPText.result(id: element.attributes["id"] ?? "", to: jid, XMPPText.bound(jid)))
    }

    // MARK: Downstream messages

    func isUnanswered(_ messageID: String) -> Bool { answers.contains { $0.messageID.isExactly(messageID) } }

    /// Stores an answer until it is due; false if the server has to stop reading now.
    mutating func append(_ answer: Answer) -> Bool {
        answers.append(answer)
        guard isReading, answers.count >= Self.window else { return true }
        isReading = false
        return false
    }

    mutating func removeAnswers(dueAt nowMs: Int64) -> [Answer] {
        let due = answers.filter { $0.dueMs <= nowMs }
        if !due.isEmpty { answers.removeAll { $0.dueMs <= nowMs } }
        return due
    }

    /// - Returns: the next stanza of the backlog; nil without one, or while too many messages have no answer.
    mutating func nextOfBacklog() -> XMLElement? {
        guard !isReading, answers.count < Self.window, !backlog.isEmpty else { return nil }
        return backlog.removeFirst()
    }

    /// - Returns: true if the server may read on, because the backlog is empty and there is room for answers.
    mutating func resumeReading() -> Bool {
        guard !isReading, answers.count < Self.window, backlog.isEmpty else { return false }
        isReading = true
        return true
    }
}

/// An instruction to the server about one connection. Instructions are carried out in their order.
public struct XMPPOutput: Equatable, Sendable {
    public enum Action: Equatable, Sendable {
        case write([UInt8])
        /// The next bytes start a new document.
        case restart
        case pauseReading
        case resumeReading
        /// Close after everything before is written.
        case close
    }

    public var connection: UInt64
    public var action: Action
}
