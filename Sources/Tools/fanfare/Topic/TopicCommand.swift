internal import ArgumentParser

struct TopicCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic",
        abstract: "Subscribes tokens to topics and ends subscriptions.",
        discussion: "Both are jobs: workers carry them out, and every token gets a result.",
        subcommands: [TopicSubscribeCommand.self, TopicUnsubscribeCommand.self]
    )
}
