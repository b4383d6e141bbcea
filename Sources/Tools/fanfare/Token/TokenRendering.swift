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
        for line in nothing(stories.filter(\.isEmpty), hasOthers: !found.isEmpty) { Console.error(line) }
        for note in Set(stories.flatMap(\.notes)).sorted() where note != "No results are kept." {
            Console.error("note: \(note)")
        }
        for story in stories {
            guard let cursor = story.cursor else { continue }
            Console.error("To continue: fanfare token show TOKEN --project \(story.project) --from \(cursor)")
        }
    }

    /// A line for each project that keeps nothing about the token, or one for many.
    func nothing(_ stories: [TokenStory], hasOthers: Bool) -> [String] {
        guard stories.count >= EqualCauses.fewest else {
            return stories.map { "project \($0.project): nothing found; \(kept($0))" }
        }
        let unkept = stories.count { $0.keptSinceMs == nil }
        let note = unkept == 0 ? "" : unkept == stories.count ? "; none keeps results" : "; \(unkept) keep no results"
        return ["nothing found in \(stories.count) \(hasOthers ? "other " : "")projects\(note)"]
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
