internal import ArgumentParser

struct TopicCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic",
        abstract: "Subscribes tokens to topics and ends subscriptions.",
        discussion: "Both push a job: workers execute it, and every token gets a result.",
        subcommands: [TopicSubscribeCommand.self, TopicUnsubscribeCommand.self]
    )
}
