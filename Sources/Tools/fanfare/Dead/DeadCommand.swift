internal import ArgumentParser

struct DeadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead",
        abstract: "Looks through jobs that need a person, and replays or drops them.",
        discussion: """
            `rejected` is an entry that broke a rule: nothing of it was sent. `parked` is a job that stopped on its way: \
            what is unfinished is kept.
            """,
        subcommands: [DeadListCommand.self, DeadReplayCommand.self, DeadDropCommand.self]
    )
}
