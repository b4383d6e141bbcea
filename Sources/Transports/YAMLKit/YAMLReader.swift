internal import CYAML

/// Reads one YAML document with libyaml. Aliases are replaced by the nodes that they name, and the merge key `<<` by the
/// members of the mappings that it takes.
public struct YAMLReader {
    /// Nodes within nodes, those within an alias's node included.
    public static let maximumDepth = 32
    /// Nodes of the document, each alias' nodes included, so that aliases of aliases do not grow without end.
    public static let maximumNodes = 200_000

    /// At a fixed address: libyaml keeps a pointer to it inside.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    /// The nodes that aliases name, with the levels below each.
    private var anchors: [String: (node: YAMLNode, height: Int)] = [:]
    private var nodes = 0

    /// - Returns: the document's root; nil if the text holds no document.
    /// - Throws: the first fault; all keys that occur twice within the first such mapping.
    public static func read(_ text: String) throws(YAMLError) -> YAMLNode? {
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        defer { parser.deallocate() }
        guard yaml_parser_initialize(parser) == 1 else { throw .tooLarge }
        defer { yaml_parser_delete(parser) }
        var reader = YAMLReader(parser: parser)
        return try reader.document(Array(text.utf8))
    }

    private init(parser: UnsafeMutablePointer<yaml_parser_t>) { self.parser = parser }

    private mutating func document(_ bytes: [UInt8]) throws(YAMLError) -> YAMLNode? {
        // libyaml reads from it until the last event.
        let input = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(bytes.count, 1))
        defer { input.deallocate() }
        _ = input.initialize(from: bytes)
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, input.baseAddress, bytes.count)
        try expect(YAML_STREAM_START_EVENT)
        var event = try next()
        if event.kind == YAML_STREAM_END_EVENT { return nil }
        event = try next()
        let root = try node(event, depth: 0)
        try expect(YAML_DOCUMENT_END_EVENT)
        event = try next()
        guard event.kind == YAML_STREAM_END_EVENT else {
            throw .syntax("expected a single document in the stream, but found another document", line: event.line)
        }
        return root
    }

    // MARK: Events

    private struct Event {
        var kind: yaml_event_type_t
        var line: Int
        var text = ""
        var isPlain = false
        var anchor: String?
    }

    private mutating func next() throws(YAMLError) -> Event {
        var raw = yaml_event_t()
        guard yaml_parser_parse(parser, &raw) == 1 else { throw fault }
        defer { yaml_event_delete(&raw) }
        var event = Event(kind: raw.type, line: Int(raw.start_mark.line) + 1)
        switch raw.type {
        case YAML_SCALAR_EVENT:
            let scalar = raw.data.scalar
            let bytes = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            event.text = String(decoding: bytes, as: UTF8.self)
            event.isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE
            event.anchor = Self.name(scalar.anchor)
        case YAML_SEQUENCE_START_EVENT: event.anchor = Self.name(raw.data.sequence_start.anchor)
        case YAML_MAPPING_START_EVENT: event.anchor = Self.name(raw.data.mapping_start.anchor)
        case YAML_ALIAS_EVENT: event.anchor = Self.name(raw.data.alias.anchor)
        default: break
        }
        return event
    }

    private mutating func expect(_ kind: yaml_event_type_t) throws(YAMLError) {
        let event = try next()
        guard event.kind == kind else { throw .syntax("unexpected end of the document", line: event.line) }
    }

    private static func name(_ anchor: UnsafeMutablePointer<UInt8>?) -> String? {
        anchor.map { String(cString: $0) }
    }

    private var fault: YAMLError {
        let fault = parser.pointee.problem.map { String(cString: $0) } ?? "the text cannot be read"
        // The reader's faults are about bytes and have no line.
        return .syntax(
            fault,
            line: parser.pointee.error == YAML_READER_ERROR ? nil : Int(parser.pointee.problem_mark.line) + 1
        )
    }

    // MARK: Nodes

    private mutating func node(_ event: Event, depth: Int) throws(YAMLError) -> YAMLNode {
        guard depth <= Self.maximumDepth else { throw .tooLarge }
        try count(1)
        let node: YAMLNode
        switch event.kind {
        case YAML_SCALAR_EVENT:
            node = .scalar(YAMLNode.Scalar(text: event.text, isPlain: event.isPlain, line: event.line))
        case YAML_SEQUENCE_START_EVENT: node = try sequence(event, depth: depth)
        case YAML_MAPPING_START_EVENT: node = try mapping(event, depth: depth)
        case YAML_ALIAS_EVENT:
            guard let named = event.anchor.flatMap({ anchors[$0] }) else {
                throw .syntax("found undefined alias", line: event.line)
            }
            guard depth + named.height <= Self.maximumDepth else { throw .tooLarge }
            try count(Self.size(of: named.node))
            return named.node
        default: throw .syntax("unexpected end of the document", line: event.line)
        }
        if let anchor = event.anchor { anchors[anchor] = (node, Self.height(of: node)) }
        return node
    }

    private mutating func sequence(_ start: Event, depth: Int) throws(YAMLError) -> YAMLNode {
        var elements: [YAMLNode] = []
        var event = try next()
        while event.kind != YAML_SEQUENCE_END_EVENT {
            elements.append(try node(event, depth: depth + 1))
            event = try next()
        }
        return .sequence(elements, line: start.line)
    }

    private mutating func mapping(_ start: Event, depth: Int) throws(YAMLError) -> YAMLNode {
        var members: [YAMLNode.Member] = []
        var known: Set<String> = []
        var twice: [String] = []
        var event = try next()
        while event.kind != YAML_MAPPING_END_EVENT {
            let key = try node(event, depth: depth + 1)
            let value = try node(try next(), depth: depth + 1)
            if let text = key.text, !known.insert(text).inserted { twice.append(text) }
            members.append(YAMLNode.Member(key: key, value: value))
            event = try next()
        }
        guard twice.isEmpty else { throw .keysGivenTwice(twice) }
        return .mapping(try Self.merged(members), line: start.line)
    }

    /// The members, with the merge key `<<` replaced by the members of its mapping or its list of mappings. A key that
    /// the mapping has itself counts, then that of the first mapping of the list.
    private static func merged(_ members: [YAMLNode.Member]) throws(YAMLError) -> [YAMLNode.Member] {
        guard members.contains(where: \.isMerge) else { return members }
        var known = Set(members.compactMap(\.key.text))
        var result: [YAMLNode.Member] = []
        for member in members {
            guard member.isMerge else {
                result.append(member)
                continue
            }
            let sources = if case .sequence(let elements, _) = member.value { elements } else { [member.value] }
            for source in sources {
                guard case .mapping(let merged, _) = source else {
                    throw .syntax("<< takes an alias of a mapping, or a list of them", line: member.key.line)
                }
                result += merged.filter { one in one.key.text.map { known.insert($0).inserted } ?? true }
            }
        }
        return result
    }

    private mutating func count(_ more: Int) throws(YAMLError) {
        nodes += more
        guard nodes <= Self.maximumNodes else { throw .tooLarge }
    }

    /// Levels below a node; 0 for a scalar and for an empty collection.
    private static func height(of node: YAMLNode) -> Int {
        switch node {
        case .scalar: 0
        case .sequence(let elements, _): elements.reduce(0) { max($0, 1 + height(of: $1)) }
        case .mapping(let members, _):
            members.reduce(0) { max($0, 1 + max(height(of: $1.key), height(of: $1.value))) }
        }
    }

    private static func size(of node: YAMLNode) -> Int {
        switch node {
        case .scalar: 1
        case .sequence(let elements, _): elements.reduce(1) { $0 + size(of: $1) }
        case .mapping(let members, _): members.reduce(1) { $0 + size(of: $1.key) + size(of: $1.value) }
        }
    }
}
