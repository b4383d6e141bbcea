/// Why a text is no YAML document. No case holds a part of the text but the keys that occur twice.
public enum YAMLError: Error, Equatable, Sendable {
    /// libyaml's description and the line, counted from 1; nil for bytes that are no text.
    case syntax(String, line: Int?)
    case keysGivenTwice([String])
    /// The document exceeds a limit of ``YAMLReader``.
    case tooLarge
}
