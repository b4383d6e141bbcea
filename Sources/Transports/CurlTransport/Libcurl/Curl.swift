internal import CCurl
internal import Glibc
internal import HTTPLanes

/// Typed access to libcurl's options. An unknown option traps: several of them keep a guarantee.
enum Curl {
    static func set(_ easy: UnsafeMutableRawPointer, _ option: CURLoption, _ value: Int) {
        check(ccurl_set_long(easy, option, value), option)
    }

    static func set(_ easy: UnsafeMutableRawPointer, _ option: CURLoption, _ value: String?) {
        check(ccurl_set_string(easy, option, value), option)
    }

    static func set(_ easy: UnsafeMutableRawPointer, _ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
        check(ccurl_set_pointer(easy, option, pointer), option)
    }

    static func long(_ easy: UnsafeMutableRawPointer, _ info: CURLINFO) -> Int {
        var value = 0
        return ccurl_get_long(easy, info, &value) == CURLE_OK ? value : 0
    }

    static func offset(_ easy: UnsafeMutableRawPointer, _ info: CURLINFO) -> Int? {
        var value: curl_off_t = -1
        return ccurl_get_offset(easy, info, &value) == CURLE_OK && value >= 0 ? Int(value) : nil
    }

    /// A C string, valid until the handle is used again.
    static func bytes(_ easy: UnsafeMutableRawPointer, _ info: CURLINFO) -> UnsafePointer<CChar>? {
        var value: UnsafePointer<CChar>?
        guard ccurl_get_string(easy, info, &value) == CURLE_OK else { return nil }
        return value
    }

    /// The header of that name in the final answer, repeated ones joined, within ``HeaderValue``'s bounds; nil if there
    /// is none.
    static func header(_ easy: UnsafeMutableRawPointer, _ name: StaticString) -> String? {
        var text: String?
        for index in 0..<HeaderValue.maximumRepeats {
            guard let value = header(easy, name, at: index) else { return text }
            text.join(value)
        }
        if header(easy, name, at: HeaderValue.maximumRepeats) != nil { text.join(HeaderValue.unreadable) }
        return text
    }

    /// - Parameter index: among the headers of that name.
    static func header(_ easy: UnsafeMutableRawPointer, _ name: StaticString, at index: Int) -> String? {
        var header: UnsafeMutablePointer<curl_header>?
        let text = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        guard curl_easy_header(easy, text, index, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK,
            let value = header?.pointee.value
        else { return nil }
        return keptText(value)
    }

    /// A header's value, within ``HeaderValue``'s bounds.
    static func keptText(_ value: UnsafePointer<CChar>) -> String {
        let isKept = strnlen(value, HeaderValue.maximumBytes + 1) <= HeaderValue.maximumBytes
        return isKept ? String(cString: value) : HeaderValue.unreadable
    }

    /// The object that libcurl got as a callback's context.
    @inline(__always)
    static func owner<Object: AnyObject>(of context: UnsafeMutableRawPointer?) -> Object? {
        context.map { Unmanaged<Object>.fromOpaque($0).takeUnretainedValue() }
    }

    static func check(_ code: CURLcode, _ option: CURLoption) {
        precondition(code == CURLE_OK, "libcurl refused option \(option.rawValue): code \(code.rawValue)")
    }
}
