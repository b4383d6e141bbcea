internal import FanfareClient
internal import FanfareModel

/// A token's stories as text.
struct TokenRendering {
    /// As it is shown.
    let token: String
    let showsTokens: Bool

    func print(_ stories: [TokenStory]) {
        let found = stories.filter { !$0.isEmpty }
        Console.line(found.isEmpty ? "Nothing is kept about \(token)." : found.map(text).joined(separator: "\n\n"))
        if stories.isEmpty {
            Console.error("fanfare: no project is configured or registered yet; name one with --project")
        }
        for story in stories where story.isEmpty {
            Console.error("project \(story.project): nothing found; \(kept(story))")
        }
        for note in Set(stories.flatMap(\.notes)).sorted() where note != "No results are kept." {
            Console.error("note: \(note)")
        }
        for story in stories {
            guard let cursor = story.cursor else { continue }
            Console.error("To go on: fanfare token show TOKEN --project \(story.project) --from \(cursor)")
        }
    }

    private func kept(_ story: TokenStory) -> String {
        story.keptSinceMs.map { "results are kept since \(JobRendering.timestamp($0))" } ?? "no results are kept"
    }

    private func text(_ story: TokenStory) -> String {
        var lines = ["\(token) in project \(story.project), \(kept(story))"]
        if !story.jobs.isEmpty {
            var table = TextTable(["at", "job", "status", "error", "action", "attempts"], numeric: [5])
            for delivery in story.jobs {
                table.add([
                    JobRendering.timestamp(delivery.atMs), delivery.job,
                    delivery.status.rawValue + (delivery.maybeDup ? " maybe_dup" : ""), delivery.error ?? "-",
                    delivery.action.map { $0 + replacement(delivery.canonical) } ?? "-", "\(delivery.attempts)",
                ])
            }
            lines += table.lines
        }
        if !story.feedback.isEmpty {
            var table = TextTable(["feedback at", "job", "action", "error"])
            for feedback in story.feedback {
                table.add([
                    JobRendering.timestamp(feedback.atMs), feedback.job,
                    feedback.action.rawValue + replacement(feedback.replacement), feedback.error ?? "-",
                ])
            }
            lines += table.lines
        }
        return lines.joined(separator: "\n")
    }

    private func replacement(_ token: String?) -> String {
        token.map { " by " + (showsTokens ? $0 : TokenStory.masked($0)) } ?? ""
    }
}
