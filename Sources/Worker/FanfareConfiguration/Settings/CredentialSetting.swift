public import FanfareModel

/// The setting `credentials` of a project: a file, or the word `metadata`.
public enum CredentialSetting: Equatable, Sendable, Redacted {
    case file(ConfiguredFile)
    /// The metadata server of GCE, GKE and Cloud Run.
    case metadata

    /// The word of the configuration; a file of this name is `./metadata`.
    static let metadataWord = "metadata"

    /// The file; nil for the metadata server.
    public var file: ConfiguredFile? {
        if case .file(let file) = self { return file }
        return nil
    }

    public var description: String { file.map { "\($0)" } ?? Self.metadataWord }
}

extension CredentialSetting: SettingValue {
    static var kind: Setting.Kind { .file }

    init(_ given: GivenValue) {
        self = given.text == Self.metadataWord ? .metadata : .file(ConfiguredFile(given))
    }
}
