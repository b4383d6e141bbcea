internal import FanfareModel

/// The type of a setting's value.
protocol SettingValue: Sendable {
    /// The rule of a setting that names none.
    static var kind: Setting.Kind { get }
    /// Reads a value that the setting's rule allows. Traps on any other.
    init(_ given: GivenValue)
    /// The value as it would be written in the file; empty for none.
    var text: String { get }
}

/// The text that was given for one setting, and the context to read it in.
struct GivenValue {
    /// The path of the setting, with the project's id.
    let path: String
    let kind: Setting.Kind
    let value: SourcedValue
    /// The configuration file's folder, ending with a slash; empty for the working directory.
    let directory: String

    var text: String {
        // Paths follow an origin, and begin with a slash themselves.
        switch kind {
        case .origin, .collector: if value.text.hasSuffix("/") { return String(value.text.dropLast()) }
        default: break
        }
        return value.text
    }

    fileprivate func read<Value>(_ value: Value?) -> Value {
        guard let value else { preconditionFailure("\(path) was not checked") }
        return value
    }
}

extension SettingValue {
    static var kind: Setting.Kind { .text }
    var text: String { "" }
}

extension SettingValue where Self: FixedWidthInteger {
    init(_ given: GivenValue) { self = given.read(Self(given.text)) }
    var text: String { String(self) }
}

/// A choice: its cases are the words that the setting takes.
extension SettingValue where Self: CaseIterable & RawRepresentable<String> {
    static var kind: Setting.Kind { .choice(allCases.map(\.rawValue)) }
    init(_ given: GivenValue) { self = given.read(Self(rawValue: given.text)) }
    var text: String { rawValue }
}

extension Int: SettingValue {}
extension Int64: SettingValue {}
extension Transport: SettingValue {}
extension LegacyBody: SettingValue {}
extension TopicAPI: SettingValue {}
extension HTTPEngine: SettingValue {}
extension Configuration.Redis.Durability: SettingValue {}
extension Configuration.Redis.SentinelTLS: SettingValue {}
extension Configuration.Log.Format: SettingValue {}
extension Configuration.Log.Level: SettingValue {}

extension Optional: SettingValue where Wrapped: SettingValue {
    static var kind: Setting.Kind { Wrapped.kind }
    init(_ given: GivenValue) { self = Wrapped(given) }
    var text: String { self?.text ?? "" }
}

extension Bool: SettingValue {
    static var kind: Setting.Kind { .choice(["false", "true"]) }
    init(_ given: GivenValue) { self = given.text == "true" }
    var text: String { String(self) }
}

extension String: SettingValue {
    init(_ given: GivenValue) { self = given.text }
    var text: String { self }
}

extension SecretText: SettingValue {
    init(_ given: GivenValue) { self.init(given.text) }
    var text: String { value }
}

extension ConfiguredFile: SettingValue {
    static var kind: Setting.Kind { .file }

    init(_ given: GivenValue) {
        let folder =
            switch given.value.source {
            case .file: given.directory
            case .projectFile(_, let folder, _): folder
            case .flag, .environment: ""
            }
        self.init(name: given.path + given.value.place, path: given.text, folder: folder)
    }
}

extension ListenAddress: SettingValue {
    static var kind: Setting.Kind { .address }
    init(_ given: GivenValue) { self = given.read(ListenAddress(given.text)) }
    var text: String { description }
}

extension Array: SettingValue where Element == String {
    static var kind: Setting.Kind { .hosts }
    init(_ given: GivenValue) { self = given.value.texts }
}

extension Dictionary: SettingValue where Key == String, Value == Int64 {
    static var kind: Setting.Kind { .sizes }

    init(_ given: GivenValue) {
        self.init()
        for text in given.value.texts {
            let sides = text.split(separator: "=", maxSplits: 1)
            self[String(sides[0])] = given.read(sides.count == 2 ? Int64(sides[1]) : nil)
        }
    }
}
