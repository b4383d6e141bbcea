internal import ArgumentParser

struct TopicCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic",
        abstract: "Subscribes tokens to topics, ends and lists subscriptions.",
        discussion: "Each pushes a job: workers execute it, and every token gets a result.",
        subcommands: [TopicSubscribeCommand.self, TopicUnsubscribeCommand.self, TopicListCommand.self]
    )
}
