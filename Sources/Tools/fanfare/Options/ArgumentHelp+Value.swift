internal import ArgumentParser

extension ArgumentHelp {
    /// The help of an option, whose value the usage shows as `<name>`.
    static func value(_ name: String, _ text: String) -> ArgumentHelp { ArgumentHelp(text, valueName: name) }
}
