// The rest of the app that the samples belong to.
import Foundation

@MainActor final class Router {
    static let shared = Router()
    var opened: [String] = []

    func open(_ room: String?, action: String) { opened.append("\(room ?? "-") by \(action)") }
}

@MainActor final class Scores {
    static let shared = Scores()
    private var latest = ""

    func refresh(to score: String) async throws -> Bool {
        guard score != "unreachable" else { throw CancellationError() }
        defer { latest = score }
        return score != latest
    }
}
