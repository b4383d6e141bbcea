internal import ArgumentParser

struct DeadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead",
        abstract: "Lists, replays and drops jobs that need an operator.",
        discussion: """
            A `rejected` entry broke a rule: nothing of it was sent. A `parked` job stopped before its end: its unfinished \
            recipients are kept.
            """,
        subcommands: [DeadListCommand.self, DeadReplayCommand.self, DeadDropCommand.self]
    )
}
