internal import ArgumentParser
internal import FanfareClient

struct TopicSubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Pushes a job that subscribes tokens to a topic, and prints its id.",
        discussion: """
            Results tell each token's fate, `sent` being success: `fanfare job results ID --failed`. A token that is \
            subscribed already is a success too.

            Examples:
              fanfare topic subscribe --project demo --topic news --token T1 --wait
              fanfare topic subscribe --project demo --topic news --tokens-file new.txt
            """
    )

    @OptionGroup var arguments: TopicArguments

    func validate() throws { try arguments.check() }

    func run() async throws { try await arguments.run { .subscribe($0, to: $1) } }
}
