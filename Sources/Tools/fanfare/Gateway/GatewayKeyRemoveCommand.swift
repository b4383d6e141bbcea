internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareJSON

struct GatewayKeyRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes a key: gateways refuse it within 10 s.",
        discussion: """
            Deletes the key's file from gateway.keys_dir. Jobs that were pushed with the key are sent.

            Example:
              fanfare gateway key remove shop
            """
    )

    @Argument(help: "The key's name.", completion: Completion.gatewayKeys)
    var name: String

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if Fanfare.skipsValidation { return }
        try GatewayKey.validate(name: name)
    }

    func run() throws {
        let folder = try options.load().gateway.requiredKeysFolder()
        let keys = try GatewayKeys.read(folder)
        guard let entry = keys.entries.first(where: { $0.key.name == name }) else {
            // One of these files may be the key's.
            ConfigurationOptions.warn(keys.faults)
            throw Outcome.failed.because("key \(name): there is none; `fanfare gateway key ls` lists the keys")
        }
        try KeyFile.remove(entry.file, from: folder)
        // One of these files may be a copy of the key, or what keeps gateways from a change.
        ConfigurationOptions.warn(keys.faults)
        Console.result(
            "key \(name): removed",
            ["name": .string(name), "outcome": "removed"],
            isJSON: json
        )
    }
}
