internal import ArgumentParser
internal import FanfareConfiguration

/// Makes the documentation's page; not for users, who have the page.
struct ConfigReferenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reference",
        abstract: "Prints the table of all settings.",
        shouldDisplay: false
    )

    func run() { Console.write(SettingReference.markdown, to: 1) }
}
