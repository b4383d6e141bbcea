internal import CNGHTTP2

/// nghttp2's callbacks. Each passes a fact on to its ``HTTP2Session``.
enum SessionCallbacks {
    /// nil when memory is short.
    static func make() -> OpaquePointer? {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks else { return nil }
        nghttp2_session_callbacks_set_send_data_callback(callbacks, sendData)
        nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, beforeFrame)
        nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onData)
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, onInvalidFrame)
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onClosed)
        return callbacks
    }

    /// nil when memory is short.
    static func makeOptions() -> OpaquePointer? {
        var options: OpaquePointer?
        guard nghttp2_option_new(&options) == 0, let options else { return nil }
        // A closed stream is of no use to a client, and costs memory.
        nghttp2_option_set_no_closed_streams(options, 1)
        nghttp2_option_set_max_reserved_remote_streams(options, 0)
        return options
    }

    /// Tells nghttp2 how long the next DATA frame is; ``sendData`` writes it.
    static let read: nghttp2_data_source_read_callback = { _, stream, _, length, flags, source, context in
        guard let session = session(context), let flags, let source,
            let (count, isLast) = session.readBody(Int(source.pointee.fd), stream: stream, most: length)
        else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
        flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
        if isLast { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return count
    }

    private static let sendData: nghttp2_send_data_callback = { _, _, head, length, source, context in
        guard let session = session(context), let head, let source else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
        session.writeData(Int(source.pointee.fd), head: head, count: length)
        return 0
    }

    private static let beforeFrame: nghttp2_before_frame_send_callback = { _, frame, context in
        if let frame { session(context)?.recordWritten(frame.pointee.hd) }
        return 0
    }

    private static let onHeader: nghttp2_on_header_callback = {
        _,
        frame,
        name,
        nameCount,
        value,
        valueCount,
        _,
        context in
        guard let frame, let session = session(context) else { return 0 }
        let isTaken = session.recordHeader(
            UnsafeBufferPointer(start: name, count: nameCount),
            UnsafeBufferPointer(start: value, count: valueCount),
            stream: frame.pointee.hd.stream_id
        )
        // nghttp2 resets the stream.
        return isTaken ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }

    private static let onData: nghttp2_on_data_chunk_recv_callback = { _, _, stream, data, count, context in
        session(context)?.recordData(UnsafeBufferPointer(start: data, count: count), stream: stream)
        return 0
    }

    private static let onFrame: nghttp2_on_frame_recv_callback = { _, frame, context in
        if let frame { session(context)?.recordFrame(frame.pointee) }
        return 0
    }

    private static let onInvalidFrame: nghttp2_on_invalid_frame_recv_callback = { _, _, code, context in
        session(context)?.recordInvalidFrame(code)
        return 0
    }

    private static let onClosed: nghttp2_on_stream_close_callback = { _, stream, code, context in
        session(context)?.recordClosed(stream, code: code)
        return 0
    }

    @inline(__always)
    private static func session(_ context: UnsafeMutableRawPointer?) -> HTTP2Session? {
        context?.assumingMemoryBound(to: Unmanaged<HTTP2Session>?.self).pointee?.takeUnretainedValue()
    }
}
