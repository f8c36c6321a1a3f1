\set w random(1, :scale)
\set d random(1, 10)
\set c random(1, 3000)
\set i1 random(1, 10000)
\set i2 random(10001, 20000)
\set i3 random(20001, 30000)
\set i4 random(30001, 40000)
\set i5 random(40001, 50000)
\set i6 random(50001, 60000)
\set i7 random(60001, 70000)
\set i8 random(70001, 80000)
\set i9 random(80001, 90000)
\set i10 random(90001, 100000)
BEGIN;
SELECT d_tax, d_next_o_id AS o FROM district WHERE d_w_id = :w AND d_id = :d FOR UPDATE \gset
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w AND d_id = :d;
SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c;
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (:o, :d, :w, :c, now(), 10, 1);
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (:o, :d, :w);
SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN (:i1, :i2, :i3, :i4, :i5, :i6, :i7, :i8, :i9, :i10);
SELECT s_i_id, s_quantity, s_data, s_dist_01 FROM stock WHERE s_w_id = :w AND s_i_id IN (:i1, :i2, :i3, :i4, :i5, :i6, :i7, :i8, :i9, :i10) ORDER BY s_i_id FOR UPDATE;
UPDATE stock SET s_quantity = CASE WHEN s_quantity >= 15 THEN s_quantity - 5 ELSE s_quantity + 86 END, s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = :w AND s_i_id = :i1;
UPDATE stock SET s_quantity = CASE WHEN s_quantity >= 15 THEN s_quantity - 5 ELSE s_quantity + 86 END, s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = :w AND s_i_id = :i2;
UPDATE stock SET s_quantity = CASE WHEN s_quantity >= 15 THEN s_quantity - 5 ELSE s_quantity + 86 END, s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = :w AND s_i_id = :i3;
UPDATE stock SET s_quantity = CASE WHEN s_quantity >= 15 THEN s_quantity - 5 ELSE s_quantity + 86 END, s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = :w AND s_i_id = :i4;
UPDATE stock SET s_quantity = CASE WHEN s_quantity >= 15 THEN s_quantity - 5 ELSE s_quantity + 86 END, s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = :w AND s_i_id = :i5;
UPDATE stock SET s_quantity = CASE WHEN s_quantity >= 15 THEN s_quantity - 5 ELSE s_quantity + 86 END, s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = :w AND s_i_id = :i6;
UPDATE stock SET s_quantity = CASE WHEN s_quantity >= 15 THEN s_quantity - 5 ELSE s_quantity + 86 END, s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = :w AND s_i_id = :i7;
UPDATE stock SET s_quantity = CASE WHEN s_quantity >= 15 THEN s_quantity - 5 ELSE s_quantity + 86 END, s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = :w AND s_i_id = :i8;
UPDATE stock SET s_quantity = CASE WHEN s_quantity >= 15 THEN s_quantity - 5 ELSE s_quantity + 86 END, s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = :w AND s_i_id = :i9;
UPDATE stock SET s_quantity = CASE WHEN s_quantity >= 15 THEN s_quantity - 5 ELSE s_quantity + 86 END, s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = :w AND s_i_id = :i10;
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) SELECT :o::int, :d::int, :w::int, n, i, :w::int, 5, 25.00, 'abcdefghijklmnopqrstuvwx' FROM unnest(ARRAY[:i1, :i2, :i3, :i4, :i5, :i6, :i7, :i8, :i9, :i10]::int[]) WITH ORDINALITY AS line (i, n);
COMMIT;
