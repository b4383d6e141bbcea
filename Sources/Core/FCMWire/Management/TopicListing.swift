internal import FanfareJSON
public import FanfareModel

/// The topics of one token, read through the v1 API page by page.
public struct TopicListing: Equatable, Sendable {
    /// Topics in a page. A page of the longest names still fits the limit of an answer.
    static let pageSize = 100
    /// FCM's limit of topics for an app instance.
    static let maximumTopics = 2_000
    /// Pages with their tokens; more mean a server that never ends. Google may answer with pages that are not full.
    static let maximumPages = 100
    private static let maximumNameBytes = 1_024
    private static let maximumTokenBytes = 8_192

    public private(set) var topics: [String] = []
    private var pageToken = ""
    private var pages = 0

    public init() {}

    /// The request for the next page; nil for a name that is not addressable.
    ///
    /// - Parameter project: the project's id or number.
    public func request(project: String, token: String) -> WireRequest? {
        guard let path = TopicSubscription.path(project: project, token: token) else { return nil }
        let next = pageToken.isEmpty ? "" : "&pageToken=\(pageToken.percentEncoded)"
        return WireRequest(method: .get, path: "\(path)?pageSize=\(Self.pageSize)\(next)", headers: .management)
    }

    /// The listing with the page of this answer, if another page follows; nil for every other outcome.
    public func continuation(after outcome: RequestOutcome) -> TopicListing? {
        guard let listing = adding(outcome), listing.hasMore, listing.fault == nil else { return nil }
        return listing
    }

    /// The verdict on the last page. A lost, cut or malformed answer is retried, from the first page on.
    ///
    /// - Parameter nowMs: Unix milliseconds, for a Retry-After date.
    public func verdict(_ outcome: RequestOutcome, nowMs: Int64) -> Verdict {
        let shared = ManagementVerdicts(family: .v1, canRefresh: true)
        guard case .answered(let answer) = outcome, answer.status == 200 else {
            return TopicSubscription.verdict(ofRefused: outcome, nowMs: nowMs)
        }
        if case .foreign = AnswerBody(answer) { return shared.unclear("not FCM's answer", httpStatus: 200) }
        guard let listing = adding(outcome) else { return shared.unclear("no list of topics", httpStatus: 200) }
        if let fault = listing.fault {
            return .failed(Failure(error: .unspecified, action: .none, rawError: fault, httpStatus: 200))
        }
        return .listed(listing.topics)
    }

    private var hasMore: Bool { !pageToken.isEmpty }

    /// Why the listing ends without a result; nil if it does not.
    private var fault: String? {
        if topics.count > Self.maximumTopics { return "more than \(Self.maximumTopics) topics" }
        return hasMore && pages >= Self.maximumPages ? "more than \(Self.maximumPages) pages of topics" : nil
    }

    /// Nil for an outcome that is not a whole page.
    private func adding(_ outcome: RequestOutcome) -> TopicListing? {
        guard case .answered(let answer) = outcome, answer.status == 200, case .json(let value) = AnswerBody(answer),
            let object = value.object
        else { return nil }
        var listing = self
        // Google leaves empty fields out.
        switch object["topicSubscriptions"] {
        case nil: break
        case .array(let subscriptions):
            for subscription in subscriptions {
                guard let name = subscription.object?["topicName"]?.string,
                    (1...Self.maximumNameBytes).contains(name.utf8.count)
                else { return nil }
                listing.topics.append(name)
            }
        default: return nil
        }
        let next = object["nextPageToken"] ?? .string("")
        guard let token = next.string, token.utf8.count <= Self.maximumTokenBytes else { return nil }
        listing.pageToken = token
        listing.pages += 1
        return listing
    }
}
