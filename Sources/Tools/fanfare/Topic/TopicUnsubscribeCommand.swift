internal import ArgumentParser
internal import FanfareClient

struct TopicUnsubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unsubscribe",
        abstract: "Pushes a job that ends tokens' subscriptions to a topic, and prints its id.",
        discussion: """
            A token without a subscription is a success.

            Examples:
              fanfare topic unsubscribe --project demo --topic news --token T1 --wait
              fanfare topic unsubscribe --project demo --topic news --tokens-file left.txt
            """
    )

    @OptionGroup var arguments: TopicArguments

    func run() async throws { try await arguments.run { .unsubscribe($0, from: $1) } }
}
