internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareJSON
internal import Glibc

struct GatewayKeyListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists the keys and what they may do.",
        discussion: """
            Prints names, never keys. Exits with 78 if a file of gateway.keys_dir has a fault.

            Example:
              fanfare gateway key ls
            """,
        aliases: ["list"]
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() throws {
        let keys = try GatewayKeys.read(try options.load().gateway.requiredKeysFolder())
        ConfigurationOptions.warn(keys.concerns.map(\.sentence))
        if json {
            for entry in keys.entries {
                var object = entry.key.json
                object["file"] = .string(entry.file)
                Console.json(object)
            }
        } else if keys.entries.isEmpty {
            Console.error("no key yet; `fanfare gateway key add NAME --project ID` makes one")
        } else {
            let width = isatty(STDOUT_FILENO) == 1 ? TerminalScreen.size.columns : nil
            for line in Self.table(keys.entries).lines(width: width) { Console.line(line) }
        }
        if !keys.faults.isEmpty { throw ConfigurationError(faults: keys.faults) }
    }

    private static func table(_ entries: [GatewayKeys.Entry]) -> TextTable {
        var table = TextTable(
            columns: [
                .text("name", cut: .middle, least: 20), .text("projects", cut: .end, least: 12), .text("rights"),
                .number("rate/min", rank: 1), .number("priority max", rank: 2), .text("file", rank: 3),
            ]
        )
        for entry in entries {
            let key = entry.key
            let words = [key.projects, key.sortedRights].map { $0.joined(separator: ",") }
            table.add([key.name] + words + [key.rate.map(String.init) ?? "-", "\(key.maximumPriority)", entry.file])
        }
        return table
    }
}
