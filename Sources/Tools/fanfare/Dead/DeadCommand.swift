internal import ArgumentParser

struct DeadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead",
        abstract: "Lists, shows, replays and drops jobs that need an operator.",
        discussion: """
            A `rejected` entry broke a rule: nothing of it was sent. A `parked` job stopped before its end: its unfinished \
            recipients are kept.

            Resume a parked job with `dead replay` once its cause is gone. Push a rejected job again with the fault \
            corrected (`dead show` prints it), then `dead drop` its entry.
            """,
        subcommands: [DeadListCommand.self, DeadShowCommand.self, DeadReplayCommand.self, DeadDropCommand.self]
    )
}
