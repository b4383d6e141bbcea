internal import ArgumentParser
internal import FanfareConfiguration

/// Generates the table of the documentation's page; hidden, because users have the page.
struct ConfigReferenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reference",
        abstract: "Prints the table of all settings.",
        shouldDisplay: false
    )

    func run() { Console.write(SettingReference.markdown, to: 1) }
}
