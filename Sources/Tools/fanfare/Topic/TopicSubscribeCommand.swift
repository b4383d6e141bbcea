internal import ArgumentParser
internal import FanfareClient

struct TopicSubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Pushes a job that subscribes tokens to a topic, and prints its id.",
        discussion: """
            Each token gets a result, where `sent` means success; `fanfare job results ID --failed` lists the others. A token \
            that is already subscribed is a success.

            Examples:
              fanfare topic subscribe --project demo --topic news --token T1 --wait
              fanfare topic subscribe --project demo --topic news --tokens-file new.txt
            """
    )

    @OptionGroup var arguments: TopicArguments

    func run() async throws { try await arguments.run { .subscribe($0, to: $1) } }
}
