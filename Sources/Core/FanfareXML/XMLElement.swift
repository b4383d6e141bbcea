/// A name as XML namespaces mean it: what a prefix stands for, and the part after it.
public struct XMLName: Hashable, Sendable {
    /// Empty where none is declared.
    public var namespace: String
    public var local: String

    public init(_ local: String, in namespace: String = "") {
        self.namespace = namespace
        self.local = local
    }
}

/// One element with everything inside it.
public struct XMLElement: Equatable, Sendable {
    public var name: XMLName
    /// By local name: no attribute of a protocol spoken here has a namespace that matters.
    public var attributes: [String: String]
    public var children: [XMLNode]

    public init(_ name: XMLName, attributes: [String: String] = [:], children: [XMLNode] = []) {
        self.name = name
        self.attributes = attributes
        self.children = children
    }

    /// The element's own text, without that of the elements in it.
    public var text: String {
        children.reduce(into: "") { text, child in
            if case .text(let part) = child { text += part }
        }
    }

    public var elements: [XMLElement] {
        children.compactMap { child in
            if case .element(let element) = child { return element }
            return nil
        }
    }

    /// The first element in it of that name.
    public func child(_ local: String, in namespace: String) -> XMLElement? {
        elements.first { $0.name == XMLName(local, in: namespace) }
    }
}

public enum XMLNode: Equatable, Sendable {
    case element(XMLElement)
    case text(String)
}

/// Events of a document that is one long element, as XMPP's streams are.
public enum XMLStreamEvent: Equatable, Sendable {
    /// The root's start tag.
    case opened(XMLName, attributes: [String: String])
    /// A whole child of the root.
    case element(XMLElement)
    /// The root's end tag.
    case closed
}
