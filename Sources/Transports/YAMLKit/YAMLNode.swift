/// A node of a YAML document, with the line on which it begins. Lines count from 1.
public enum YAMLNode: Equatable, Sendable {
    case scalar(Scalar)
    case sequence([YAMLNode], line: Int)
    /// The members in the order of the document. No scalar key occurs twice.
    case mapping([Member], line: Int)

    public struct Scalar: Equatable, Sendable {
        public var text: String
        /// Whether the text stands without quotes and is no block, so that an empty one or `~` means null.
        public var isPlain: Bool
        public var line: Int
    }

    public struct Member: Equatable, Sendable {
        public var key: YAMLNode
        public var value: YAMLNode

        /// Whether the key is the merge key of YAML 1.1. In quotes it is a text.
        var isMerge: Bool {
            if case .scalar(let scalar) = key { scalar.isPlain && scalar.text == "<<" } else { false }
        }
    }

    public var line: Int {
        switch self {
        case .scalar(let scalar): scalar.line
        case .sequence(_, let line), .mapping(_, let line): line
        }
    }

    /// The scalar's text; nil for a sequence or mapping.
    public var text: String? {
        if case .scalar(let scalar) = self { scalar.text } else { nil }
    }
}
