internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareCore

struct GatewayKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Adds, lists and removes keys of the gateway.",
        discussion: "Keys are files in gateway.keys_dir, which gateways read again when they change.",
        subcommands: [GatewayKeyAddCommand.self, GatewayKeyListCommand.self, GatewayKeyRemoveCommand.self]
    )
}

extension GatewayKey {
    /// Checks the name of a command line. A key in its place is not repeated.
    static func validate(name: String) throws {
        if isKey(name) { throw ValidationError("this is a key; give its name, which `fanfare gateway key ls` shows") }
        guard isValidName(name) else { throw ValidationError("the name of a key matches \(namePattern)") }
    }
}

extension Configuration.Gateway {
    /// The folder of keys.
    func requiredKeysFolder() throws(ConfigurationError) -> ConfiguredFile {
        if let keysFolder { return keysFolder }
        throw ConfigurationError(
            faults: ["gateway.keys_dir: none; name a folder in the configuration file, such as gateway-keys.d"]
        )
    }
}
